import { parseJson, PolypodError, shape } from '../base/index.ts';
import type { McpServerSpec } from './spec.ts';
import { serverPart } from './tools/tool-name.ts';

const { anyText, choice, count, fields, listOf, mapOf, ruled, text } = shape;

const serverName = text('a name of at least one letter or digit', (name) => /[A-Za-z0-9]/.test(name));

const variable = text('the name of an environment variable', (name) => /^[A-Za-z_]\w*$/.test(name));

const headers = mapOf(
  text('the name of a header', (name) => /^[\w!#$%&'*+.^`|~-]+$/.test(name)),
  text('text without line breaks', (value) => /^[\x20-\x7e]+$/.test(value)),
);

/** The spellings of `type` that are in use; `sse` servers are reached because the HTTP client falls back to it. */
const TYPES = ['stdio', 'http', 'streamable-http', 'streamableHttp', 'sse'] as const;

const stated = fields(
  {},
  {
    type: choice(TYPES),
    command: text('the program to start'),
    args: listOf(anyText),
    env: mapOf(variable, anyText),
    cwd: text('the path of a directory'),
    pass_env: listOf(variable),
    url: text('an http or https address like https://host/mcp, without user and password', isHttpUrl),
    headers,
    timeout: count(1),
  },
);
type StatedServer = shape.ValueOf<typeof stated>;

const ONLY_STDIO = ['args', 'env', 'cwd', 'pass_env'] as const;

const server = ruled(stated, (value) => {
  const { type, command, url } = value;
  if (command !== undefined && url !== undefined) return 'has command and url: keep one of them';
  if (command === undefined && url === undefined)
    return 'has neither command nor url: add command to start a program, or url to reach a server over HTTP';
  if (type !== undefined && (type === 'stdio') !== (command !== undefined))
    return `has type ${type}, which goes with ${type === 'stdio' ? 'command' : 'url'}: correct one of them`;
  const foreign = command === undefined ? ONLY_STDIO.filter((key) => value[key] !== undefined) : [];
  if (foreign.length > 0) return `has a url, so ${foreign.join(' and ')} mean nothing: remove them`;
  return command !== undefined && value.headers !== undefined
    ? 'has a command, so headers mean nothing: remove them'
    : undefined;
});

const servers = ruled(mapOf(serverName, server), (named) => {
  const names = [...named.keys()];
  const twins = names.filter((name) => names.some((other) => other !== name && alike(name, other)));
  return twins.length === 0
    ? undefined
    : `has ${twins.map((name) => `"${name}"`).join(' and ')}, whose tools would have the same names: rename one`;
});

/** The MCP servers of a configuration: a map from their names to how each is reached. */
export const MCP_SERVERS: shape.Shape<readonly McpServerSpec[]> = {
  schema: servers.schema,
  read: (value, path, report) => {
    const read = servers.read(value, path, report);
    return read && [...read].map(([name, given]) => specOf(name, given));
  },
};

const config = fields({}, { mcpServers: MCP_SERVERS });

/** Reads what clients hand over as `mcp_config`: `{ mcpServers: { … } }`, as an object or as JSON text. */
export function readMcpConfig(value: unknown): readonly McpServerSpec[] {
  const problems: shape.Problem[] = [];
  const read = config.read(typeof value === 'string' ? parsed(value) : value, [], (problem) =>
    problems.push(problem),
  );
  if (read !== undefined) return read.mcpServers ?? [];
  const lines = problems.map(({ path, text: said }) => `  - ${placeOf(path)} ${said}`);
  throw new PolypodError('bad-request', `the MCP configuration is wrong:\n${lines.join('\n')}\n${EXPECTED}`);
}

function parsed(text: string): unknown {
  if (text.trim() === '') return {};
  try {
    return parseJson(text);
  } catch (thrown) {
    throw new PolypodError('bad-request', `the MCP configuration is not JSON\n${EXPECTED}`, {
      cause: thrown,
    });
  }
}

const EXPECTED =
  'write it like {"mcpServers": {"files": {"command": "program", "args": ["…"]}, "web": {"url": "https://host/mcp"}}}';

function placeOf([root, name, ...rest]: shape.Path): string {
  if (root === undefined) return 'it';
  if (root !== 'mcpServers' || name === undefined) return String(root);
  const place = `server "${name}"`;
  return rest.length === 0 ? place : `${place}: ${rest.join('.')}`;
}

function specOf(name: string, given: StatedServer): McpServerSpec {
  const { command, url, cwd, timeout } = given;
  const limit = timeout === undefined ? {} : { callTimeoutMs: timeout };
  if (command === undefined)
    return {
      transport: 'http',
      name,
      url: url ?? '',
      headers: Object.fromEntries(given.headers ?? []),
      ...limit,
    };
  return {
    transport: 'stdio',
    name,
    command,
    args: given.args ?? [],
    env: Object.fromEntries(given.env ?? []),
    passEnv: given.pass_env ?? [],
    ...(cwd === undefined ? {} : { cwd }),
    ...limit,
  };
}

function alike(one: string, other: string): boolean {
  return serverPart(one) === serverPart(other);
}

function isHttpUrl(value: string): boolean {
  if (!URL.canParse(value)) return false;
  const { protocol, username, password } = new URL(value);
  return /^https?:$/.test(protocol) && username === '' && password === '';
}
