import { execFileSync, spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { describe, expect, onTestFinished, test } from 'vitest';
import { arrayOf, objectOf, stringOf } from '../../../../src/base/index.ts';
import type { Sim } from '../../../../src/sim/index.ts';
import { killAndWait, polypod } from '../../../cli/polypod.ts';
import { calls, projectFixture, resultsFor, answers } from './editor.ts';

const EVERYTHING = createRequire(import.meta.url).resolve(
  '@modelcontextprotocol/server-everything/dist/index.js',
);
const SECRET = 'hunter2-secret-value';
const stdioServer = {
  name: 'everything',
  command: process.execPath,
  args: [EVERYTHING],
  env: [{ name: 'API_TOKEN', value: SECRET }],
};

describe.each([
  ['without a daemon', false],
  ['through a daemon', true],
])('MCP servers that an editor names, %s', (_, daemon) => {
  test('are connected for its session, over stdio and HTTP', async () => {
    const { url } = await everythingOverHttp();
    const script = [
      calls('mcp__everything__echo', { message: 'over stdio' }),
      calls('mcp__web__echo', { message: 'over http' }, 'call_2'),
      answers('done'),
    ];
    const project = await projectFixture(script, { daemon });
    const editor = await project.editor();
    const sessionId = await editor.newSession(project.cwd, {
      mcpServers: [
        stdioServer,
        { type: 'http', name: 'web', url, headers: [{ name: 'Authorization', value: `Bearer ${SECRET}` }] },
      ],
    });
    await editor.prompt(sessionId);
    expect(resultsFor(project.sim)).toEqual(['Echo: over stdio', 'Echo: over http']);
  });

  test('that do not start are reported, and the session works without them', async () => {
    const project = await projectFixture([answers('done')], { daemon });
    const editor = await project.editor({ capabilities: { session: { notices: {} } } });
    const sessionId = await editor.newSession(project.cwd, {
      mcpServers: [{ ...stdioServer, name: 'broken', command: '/no/such/program' }],
    });
    expect(await editor.prompt(sessionId)).toBe('end_turn');
    const notices = editor.updates.filter(({ sessionUpdate }) => sessionUpdate === 'notice');
    expect(notices).toMatchObject([
      { severity: 'warning', title: expect.stringContaining('The MCP server "broken" is unavailable') },
    ]);
  });
});

test('MCP servers that cannot be used together are reported in the answer, and the session works without them', async () => {
  const project = await projectFixture([answers('done')]);
  const editor = await project.editor();
  const mcpServers = ['a b', 'a_b'].map((name) => ({ ...stdioServer, name }));
  const sessionId = await editor.newSession(project.cwd, { mcpServers });
  expect(await editor.prompt(sessionId)).toBe('end_turn');
  const texts = editor.updates
    .filter(({ sessionUpdate }) => sessionUpdate === 'agent_message_chunk')
    .map(({ content }) => stringOf(objectOf(content).text));
  expect(texts.join('')).toMatch(/The MCP servers of the editor are not used: [^]*"a b" and "a_b"[^]*done/);
});

describe.each([
  ['without a daemon', false],
  ['through a daemon', true],
])('the values of variables and headers of MCP servers, %s', (_, daemon) => {
  test('the secrets of MCP servers are in no file', async () => {
    const { url } = await everythingOverHttp();
    const script = [calls('mcp__web__echo', { message: 'hi' }), answers('done')];
    const project = await projectFixture(script, { daemon });
    const editor = await project.editor();
    const failing = {
      ...stdioServer,
      name: 'failing',
      args: ['-e', 'console.error(process.env.API_TOKEN); process.exit(1)'],
    };
    const headers = [{ name: 'Authorization', value: `Bearer ${SECRET}` }];
    const sessionId = await editor.newSession(project.cwd, {
      mcpServers: [stdioServer, failing, { type: 'http', name: 'web', url, headers }],
    });
    await editor.prompt(sessionId);
    expect(resultsFor(project.sim)).toEqual(['Echo: hi']);
    await editor.kill();
    const filesWith = (text: string): string =>
      execFileSync('sh', ['-c', 'grep -rl -e "$1" "$2" || true', 'sh', text, project.home], {
        encoding: 'utf8',
      });
    expect(filesWith(SECRET)).toBe('');
    // Their names are recorded with the session.
    expect(filesWith('API_TOKEN')).toContain(sessionId);
  });

  test('are given again with session/load, and a list without servers disconnects them', async () => {
    const script = [
      answers('one'),
      calls('mcp__everything__get-env', {}),
      answers('two'),
      answers('three'),
      answers('four'),
    ];
    const project = await projectFixture(script, { daemon });
    const before = await project.editor();
    const sessionId = await before.newSession(project.cwd, { mcpServers: [stdioServer] });
    await before.prompt(sessionId);
    await before.agent.request('session/close', { sessionId });
    const editor = await project.editor();
    const load = (mcpServers: readonly object[]) =>
      editor.agent.request('session/load', { sessionId, cwd: project.cwd, mcpServers: [...mcpServers] });
    await load([{ ...stdioServer, env: [{ name: 'API_TOKEN', value: 'another-value' }] }]);
    await editor.prompt(sessionId);
    expect(resultsFor(project.sim)[0]).toContain('"API_TOKEN": "another-value"');
    await load([]);
    await editor.prompt(sessionId);
    expect(toolNames(project.sim)).not.toContain('mcp__everything__echo');
    await load([stdioServer]);
    await editor.prompt(sessionId);
    expect(toolNames(project.sim)).toContain('mcp__everything__echo');
  });
});

test('a daemon keeps the servers for other clients while it runs, and not longer', async () => {
  const script = [answers('one'), answers('two'), answers('three')];
  const project = await projectFixture(script, { daemon: true });
  const editor = await project.editor();
  const free = { ...stdioServer, name: 'free', env: [] };
  const sessionId = await editor.newSession(project.cwd, { mcpServers: [stdioServer, free] });
  await editor.prompt(sessionId);
  await editor.kill();
  const resumed = await project.editor();
  await resumed.agent.request('session/resume', { sessionId, cwd: project.cwd });
  await resumed.prompt(sessionId);
  expect(toolNames(project.sim)).toContain('mcp__everything__echo');
  await resumed.agent.request('session/close', { sessionId });
  await polypod(['stop'], { env: project.env });
  // Another process knows the servers, but not the values of their variables.
  const capabilities = { session: { notices: {} } };
  const alone = await project.editor({ capabilities, args: ['--no-daemon'] });
  await alone.agent.request('session/resume', { sessionId, cwd: project.cwd });
  expect(await alone.prompt(sessionId)).toBe('end_turn');
  expect(toolNames(project.sim)).toContain('mcp__free__echo');
  expect(toolNames(project.sim)).not.toContain('mcp__everything__echo');
  expect(alone.updates).toContainEqual(
    expect.objectContaining({
      sessionUpdate: 'notice',
      title:
        'The MCP server "everything" is unavailable: the values of API_TOKEN are known only to the editor: open the session in it',
    }),
  );
});

/** The tools in the last request to the model. */
function toolNames(sim: Sim): readonly string[] {
  const { tools } = objectOf(sim.requests.at(-1)?.body);
  return arrayOf(tools).map((tool) => stringOf(objectOf(tool).name));
}

describe('a question of an MCP server', () => {
  const script = [calls('mcp__everything__trigger-elicitation-request', {}), answers('done')];

  test('is a form in the editor, which names the server', async () => {
    const project = await projectFixture(script);
    const editor = await project.editor({
      capabilities: { elicitation: { form: {} } },
      handlers: { 'elicitation/create': () => ({ action: 'accept', content: { name: 'Ada' } }) },
    });
    const sessionId = await editor.newSession(project.cwd, { mcpServers: [stdioServer] });
    await editor.prompt(sessionId);
    expect(editor.asked('elicitation/create')).toMatchObject([
      { sessionId, mode: 'form', requestedSchema: { type: 'object' } },
    ]);
    expect(stringOf(editor.asked('elicitation/create')[0]?.message)).toMatch(
      /^The MCP server "everything" asks: /,
    );
    expect(resultsFor(project.sim)[0]).toContain('Ada');
  });

  test('is withdrawn when the run is cancelled', async () => {
    let onAsked = (): void => {};
    const isAsked = new Promise<void>((resolve) => {
      onAsked = resolve;
    });
    let isWithdrawn = false;
    const project = await projectFixture(script);
    const editor = await project.editor({
      capabilities: { elicitation: { form: {} } },
      handlers: {
        'elicitation/create': (_, signal) => {
          signal.addEventListener('abort', () => {
            isWithdrawn = true;
          });
          onAsked();
          return new Promise<object>(() => {});
        },
      },
    });
    const sessionId = await editor.newSession(project.cwd, { mcpServers: [stdioServer] });
    const stopped = editor.prompt(sessionId);
    await isAsked;
    await editor.agent.notify('session/cancel', { sessionId });
    expect(await stopped).toBe('cancelled');
    await expect.poll(() => isWithdrawn).toBe(true);
  });

  const page = (url: string): ReturnType<typeof calls> =>
    calls('mcp__everything__trigger-url-elicitation', { url, message: 'Sign in.', elicitationId: 'e1' });

  test('can ask to open a page', async () => {
    const project = await projectFixture([page('https://example.com/sign-in'), answers('done')]);
    const editor = await project.editor({
      capabilities: { elicitation: { url: {} } },
      handlers: { 'elicitation/create': () => ({ action: 'accept' }) },
    });
    const sessionId = await editor.newSession(project.cwd, { mcpServers: [stdioServer] });
    await editor.prompt(sessionId);
    expect(editor.asked('elicitation/create')).toEqual([
      {
        sessionId,
        mode: 'url',
        message: 'The MCP server "everything" asks: Sign in.',
        url: 'https://example.com/sign-in',
        elicitationId: 'everything/e1',
      },
    ]);
    expect(resultsFor(project.sim)[0]).toMatch(/accept/i);
  });

  test('reports that what a page was opened for is complete', async () => {
    const project = await projectFixture([calls('mcp__signin__open', {}), answers('done')]);
    const editor = await project.editor({
      capabilities: { elicitation: { url: {} } },
      handlers: { 'elicitation/create': () => ({ action: 'accept' }) },
    });
    const completed = new Promise<unknown>((resolve) => {
      editor.child.stdout.on('data', (text: string) => {
        for (const line of text.split('\n'))
          if (line.includes('"elicitation/complete"')) resolve(objectOf(JSON.parse(line)).params);
      });
    });
    const sessionId = await editor.newSession(project.cwd, {
      mcpServers: [{ name: 'signin', command: process.execPath, args: ['-e', PAGE_SERVER], env: [] }],
    });
    await editor.prompt(sessionId);
    expect(await completed).toEqual({ elicitationId: 'signin/e1' });
  });

  test('cannot make the editor open something else than a web page', async () => {
    const project = await projectFixture([page('file:///etc/passwd'), answers('done')]);
    const editor = await project.editor({
      capabilities: { elicitation: { url: {} } },
      handlers: { 'elicitation/create': () => ({ action: 'accept' }) },
    });
    await editor.prompt(await editor.newSession(project.cwd, { mcpServers: [stdioServer] }));
    expect(editor.asked('elicitation/create')).toEqual([]);
    expect(resultsFor(project.sim)[0]).toMatch(/decline/i);
  });

  test('is not possible if the editor shows no forms', async () => {
    const project = await projectFixture([answers('done')]);
    const editor = await project.editor();
    await editor.prompt(await editor.newSession(project.cwd, { mcpServers: [stdioServer] }));
    const { tools } = objectOf(project.sim.requests.at(-1)?.body);
    expect(JSON.stringify(tools)).toContain('mcp__everything__echo');
    expect(JSON.stringify(tools)).not.toContain('trigger-elicitation-request');
  });
});

/** An MCP server whose tool asks to open a page, and reports at once that it is complete. */
const PAGE_SERVER = `
const send = (message) => console.log(JSON.stringify({ jsonrpc: '2.0', ...message }));
let call;
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (method === 'initialize')
    send({ id, result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'x', version: '1' } } });
  else if (method === 'tools/list') send({ id, result: { tools: [{ name: 'open', inputSchema: { type: 'object' } }] } });
  else if (method === 'tools/call') {
    call = id;
    send({ id: 'q', method: 'elicitation/create', params: { mode: 'url', message: 'Open.', url: 'https://example.com', elicitationId: 'e1' } });
  } else if (id === 'q') {
    send({ method: 'notifications/elicitation/complete', params: { elicitationId: 'e1' } });
    send({ id: call, result: { content: [{ type: 'text', text: 'opened' }] } });
  } else if (id !== undefined) send({ id, error: { code: -32601, message: 'unknown' } });
});`;

async function everythingOverHttp(): Promise<{ readonly url: string }> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, 'close');
  const child = spawn(process.execPath, [EVERYTHING, 'streamableHttp'], {
    env: { PATH: process.env.PATH, PORT: String(port) },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  onTestFinished(() => killAndWait(child));
  await new Promise<void>((resolve, reject) => {
    let text = '';
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
      if (/listening/i.test(text)) resolve();
    });
    child.once('exit', () => reject(new Error(`the server ended: ${text}`)));
  });
  return { url: `http://127.0.0.1:${port}/mcp` };
}
