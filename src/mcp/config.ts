import { parseJson, PolypodError, shape, withoutUndefined } from '../base/index.ts';
import type { McpServerSpec } from './spec.ts';
import { serverPart } from './tools/tool-name.ts';

const { anyText, choice, integerFrom, fields, listOf, mapOf, refined, text } = shape;

const serverName = text('a name of at least one letter or digit', (name) => /[A-Za-z0-9]/.test(name));

const variable = text('the name of an environment variable', (name) => /^[A-Za-z_]\w*$/.test(name));

const headers = mapOf(
  text('the name of a header', (name) => /^[\w!#$%&'*+.^`|~-]+$/.test(name)),
  text('text without line breaks', (value) => /^[\x20-\x7e]+$/.test(value)),
);

/** Spellings of `type` in use; `sse` works because the HTTP client falls back to it. */
const TYPES = ['stdio', 'http', 'streamable-http', 'streamableHttp', 'sse'] as const;

const serverFields = fields(
  {},
  {
    type: choice(TYPES),
    command: text('the program to start'),
    args: listOf(anyText),
    env: mapOf(variable, anyText),
    cwd: text('the path of a directory'),
    pass_env: listOf(variable),
    url: text('an http or https URL like https://host/mcp, without user and password', isHttpUrl),
    headers,
    timeout: integerFrom(1),
  },
);
type ServerFields = shape.ValueOf<typeof serverFields>;

const ONLY_STDIO = ['args', 'env', 'cwd', 'pass_env'] as const;

const server = refined(serverFields, (value) => {
  const { type, command, url } = value;
  if (command !== undefined && url !== undefined) return 'has command and url: keep one of them';
  if (command === undefined && url === undefined)
    return 'has neither command nor url: add command to start a program, or url to reach a server over HTTP';
  if (type !== undefined && (type === 'stdio') !== (command !== undefined))
    return `has type ${type}, which requires ${type === 'stdio' ? 'command' : 'url'}: correct one of them`;
  const foreign = command === undefined ? ONLY_STDIO.filter((key) => value[key] !== undefined) : [];
  if (foreign.length > 0) return `has a url, so ${foreign.join(' and ')} have no effect: remove them`;
  return command !== undefined && value.headers !== undefined
    ? 'has a command, so headers have no effect: remove them'
    : undefined;
});

const servers = refined(mapOf(serverName, server), (named) => {
  const names = [...named.keys()];
  const twins = names.filter((name) =>
    names.some((right) => right !== name && haveSameToolNames(name, right)),
  );
  return twins.length === 0
    ? undefined
    : `has ${twins.map((name) => `"${name}"`).join(' and ')}, whose tools would have the same names: rename one`;
});

/** The MCP servers of a configuration: a map from names to connection settings. */
export const MCP_SERVERS: shape.Shape<readonly McpServerSpec[]> = {
  schema: servers.schema,
  read: (value, path, report) => {
    const read = servers.read(value, path, report);
    return read && [...read].map(([name, settings]) => toSpec(name, settings));
  },
};

const config = fields({}, { mcpServers: MCP_SERVERS });

/** Reads the `mcp_config` of a client: `{ mcpServers: { … } }`, as an object or as JSON text. */
export function readMcpConfig(value: unknown): readonly McpServerSpec[] {
  const problems: shape.Problem[] = [];
  const read = config.read(typeof value === 'string' ? parseJsonText(value) : value, [], (problem) =>
    problems.push(problem),
  );
  if (read !== undefined) return read.mcpServers ?? [];
  const lines = problems.map(({ path, text: message }) => `  - ${describePath(path)} ${message}`);
  throw new PolypodError(
    'bad-request',
    `the MCP configuration is invalid:\n${lines.join('\n')}\n${EXPECTED}`,
  );
}

function parseJsonText(text: string): unknown {
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
  'use the form {"mcpServers": {"files": {"command": "program", "args": ["…"]}, "web": {"url": "https://host/mcp"}}}';

function describePath([root, name, ...rest]: shape.Path): string {
  if (root === undefined) return 'it';
  if (root !== 'mcpServers' || name === undefined) return String(root);
  const server = `server "${name}"`;
  return rest.length === 0 ? server : `${server}: ${rest.join('.')}`;
}

function toSpec(name: string, settings: ServerFields): McpServerSpec {
  const { command, url, cwd, timeout } = settings;
  const limit = timeout === undefined ? {} : { callTimeoutMs: timeout };
  if (command === undefined)
    return {
      transport: 'http',
      name,
      url: url ?? '',
      headers: Object.fromEntries(settings.headers ?? []),
      ...limit,
    };
  return {
    transport: 'stdio',
    name,
    command,
    args: settings.args ?? [],
    env: Object.fromEntries(settings.env ?? []),
    passEnv: settings.pass_env ?? [],
    ...withoutUndefined({ cwd }),
    ...limit,
  };
}

function haveSameToolNames(left: string, right: string): boolean {
  return serverPart(left) === serverPart(right);
}

function isHttpUrl(value: string): boolean {
  if (!URL.canParse(value)) return false;
  const { protocol, username, password } = new URL(value);
  return /^https?:$/.test(protocol) && username === '' && password === '';
}
