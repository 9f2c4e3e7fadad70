import { describe, expect, test } from 'vitest';
import type { shape } from '../../src/base/index.ts';
import { MCP_SERVERS, type McpServerSpec, readMcpConfig } from '../../src/mcp/index.ts';

const FILES = { command: 'npx', args: ['-y', 'server-files', '/data'], env: { LOG_LEVEL: 'debug' } };
const WEB = { type: 'http', url: 'https://host.example/mcp', headers: { Authorization: 'Bearer abc' } };

const SPECS: readonly McpServerSpec[] = [
  {
    transport: 'stdio',
    name: 'files',
    command: 'npx',
    args: ['-y', 'server-files', '/data'],
    env: { LOG_LEVEL: 'debug' },
    passEnv: [],
  },
  {
    transport: 'http',
    name: 'web',
    url: 'https://host.example/mcp',
    headers: { Authorization: 'Bearer abc' },
  },
];

describe('an MCP configuration', () => {
  test('is accepted as an object and as JSON text', () => {
    const config = { mcpServers: { files: FILES, web: WEB } };
    expect(readMcpConfig(config)).toEqual(SPECS);
    expect(readMcpConfig(JSON.stringify(config))).toEqual(SPECS);
  });

  test.each([[{}], [{ mcpServers: {} }], [{ mcpServers: null }], ['{}'], ['']])(
    'may contain no server: %j',
    (value) => {
      expect(readMcpConfig(value)).toEqual([]);
    },
  );

  test('supports every server setting', () => {
    const server = { command: 'serve', cwd: 'sub', pass_env: ['GITHUB_TOKEN'], timeout: 5000 };
    expect(readMcpConfig({ mcpServers: { 'My Server': server } })).toEqual([
      {
        transport: 'stdio',
        name: 'My Server',
        command: 'serve',
        args: [],
        env: {},
        passEnv: ['GITHUB_TOKEN'],
        cwd: 'sub',
        callTimeoutMs: 5000,
      },
    ]);
  });

  test('can be part of another configuration', () => {
    const problems: shape.Problem[] = [];
    const report: shape.Report = (problem) => problems.push(problem);
    expect(MCP_SERVERS.read({ files: FILES, web: WEB }, ['mcp_servers'], report)).toEqual(SPECS);
    expect(MCP_SERVERS.read({ files: { ...FILES, arg: [] } }, ['mcp_servers'], report)).toBeUndefined();
    expect(problems).toEqual([
      { path: ['mcp_servers', 'files', 'arg'], at: 'key', text: 'is not a key: did you mean "args"?' },
    ]);
  });

  const server = (value: unknown) => ({ mcpServers: { files: value } });

  test.each([
    [[], 'it must be a map, not a list'],
    ['[]', 'it must be a map, not a list'],
    [5, 'it must be a map, not 5'],
    [{ servers: {} }, 'servers is not a key: there are mcpServers'],
    [{ mcpserver: {} }, 'mcpserver is not a key: did you mean "mcpServers"?'],
    [{ mcpServers: [] }, 'mcpServers must be a map, not a list'],
    [{ mcpServers: { '??': FILES } }, 'server "??" must be a name of at least one letter or digit'],
    [
      server(null),
      'server "files" has neither command nor url: add command to start a program, or url to reach a server over HTTP',
    ],
    [server({ args: [] }), 'server "files" has neither command nor url'],
    [server('npx'), 'server "files" must be a map, not text'],
    [server({ ...FILES, url: WEB.url }), 'server "files" has command and url: keep one of them'],
    [server({ command: ['npx'] }), 'server "files": command must be the program to start, not a list'],
    [server({ command: ' ' }), 'server "files": command must be the program to start, not blank'],
    [server({ command: 'x', args: 'y' }), 'server "files": args must be a list, not text'],
    [server({ command: 'x', args: ['y', 3] }), 'server "files": args.1 must be text, not 3'],
    [server({ command: 'x', env: { PORT: 3000 } }), 'server "files": env.PORT must be text, not 3000'],
    [
      server({ command: 'x', env: { 'A-B': '' } }),
      'server "files": env.A-B must be the name of an environment variable',
    ],
    [
      server({ command: 'x', pass_env: ['A B'] }),
      'server "files": pass_env.0 must be the name of an environment variable',
    ],
    [server({ command: 'x', timeout: 0 }), 'server "files": timeout must be a whole number from 1 on, not 0'],
    [
      server({ command: 'x', type: 'http' }),
      'server "files" has type http, which requires url: correct one of them',
    ],
    [
      server({ url: WEB.url, type: 'stdio' }),
      'server "files" has type stdio, which requires command: correct one of them',
    ],
    [
      server({ url: WEB.url, type: 'https' }),
      'server "files": type must be one of stdio, http, streamable-http, streamableHttp, sse, not "https": did you mean "http"?',
    ],
    [
      server({ url: WEB.url, env: {}, args: [] }),
      'server "files" has a url, so args and env have no effect: remove them',
    ],
    [
      server({ command: 'x', headers: {} }),
      'server "files" has a command, so headers have no effect: remove them',
    ],
    [
      server({ url: 'host/mcp' }),
      'server "files": url must be an http or https URL like https://host/mcp, without user and password',
    ],
    [server({ url: 'ftp://host' }), 'server "files": url must be an http or https URL'],
    [
      server({ url: 'https://me:secret@host' }),
      'server "files": url must be an http or https URL like https://host/mcp, without user and password',
    ],
    [
      server({ url: WEB.url, headers: { 'A B': 'c' } }),
      'server "files": headers.A B must be the name of a header',
    ],
    [
      server({ url: WEB.url, headers: { A: 'b\nc' } }),
      'server "files": headers.A must be text without line breaks',
    ],
    [
      { mcpServers: { 'a b': FILES, a_b: FILES } },
      'mcpServers has "a b" and "a_b", whose tools would have the same names: rename one',
    ],
  ])('that is invalid is rejected with a hint: %j', (value, line) => {
    const message = messageOf(value);
    expect(message).toContain(`the MCP configuration is invalid:\n  - ${line}`);
    expect(message).toContain('\nuse the form {"mcpServers": {');
    expect(message).not.toContain('secret');
  });

  test('reports all problems at once', () => {
    const config = { mcpServers: { a: { command: 1 }, b: { url: 2 }, c: {} } };
    expect(messageOf(config).split('\n')).toHaveLength(5);
  });

  test('that is not JSON is rejected', () => {
    expect(messageOf('{"mcpServers": {')).toMatch(
      /^bad-request: the MCP configuration is not JSON\nuse the form/,
    );
  });
});

function messageOf(value: unknown): string {
  try {
    return `no problem was reported: ${JSON.stringify(readMcpConfig(value))}`;
  } catch (thrown) {
    const { code, message } = thrown as { code: string; message: string };
    return `${code}: ${message}`;
  }
}
