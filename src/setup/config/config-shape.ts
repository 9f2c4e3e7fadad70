import { PERMISSION_MODES } from '../../tools/index.ts';
import { DEADLINE_FALLBACKS } from '../../pod/index.ts';
import { LOG_LEVELS, shape } from '../../base/index.ts';
import { httpUrl, VENDORS, vendorNamed, WIRES } from '../../llm/index.ts';
import { MCP_SERVERS } from '../../mcp/index.ts';
import { doors } from '../../registry.ts';
import { BYTE_SIZE } from './byte-size.ts';
import { DURATION } from './duration.ts';
import { RULE } from './rule-shape.ts';
import { TASKS } from './tasks-shape.ts';

/** The version of the format that this Polypod writes about. A file without one means the first. */
export const CONFIG_VERSION = 1;

const { choice, count, fields, flag, listOf, mapOf, number, ruled, text } = shape;

const accountName = text('a name of letters, digits, dots, dashes and underscores', (name) =>
  /^[A-Za-z0-9][\w.-]*$/.test(name),
);

const headers = mapOf(
  text('the name of a header', (name) => /^[\w!#$%&'*+.^`|~-]+$/.test(name)),
  text('text without line breaks', (value) => /^[\x20-\x7e]+$/.test(value)),
);

const account = fields(
  {},
  {
    vendor: choice(VENDORS.map(({ name }) => name)),
    wire: choice(WIRES),
    base_url: text('an http or https address like https://host/v1', (url) => httpUrl(url) !== undefined),
    key_env: text('the name of an environment variable', (name) => /^[A-Za-z_]\w*$/.test(name)),
    key_file: text('the path of a file that holds the key'),
    key: text('the key as text'),
    headers,
    omit: listOf(text('the name of a field')),
  },
);

const permissions = fields(
  {},
  {
    mode: choice(PERMISSION_MODES),
    rules: listOf(RULE),
    allow_paths: listOf(text('a path')),
    pass_env: listOf(text('the name of an environment variable', (name) => /^[A-Za-z_]\w*$/.test(name))),
    isolate_commands: choice(['auto', 'off']),
  },
);

const sockets = fields({}, { allow_agent_processes: flag });

const sandboxPath = text('an absolute path, or one that begins with ~/', (path) => /^(?:\/|~\/)/.test(path));

const sandbox = fields(
  {},
  {
    enabled: flag,
    read: listOf(sandboxPath),
    hide: listOf(sandboxPath),
    show: listOf(sandboxPath),
    tmp_mb: count(1),
  },
);

const streamRule = fields(
  {
    name: text('a name'),
    content: text('what the model is told when it breaks the rule'),
    condition: listOf(text('a regular expression', isExpression)),
  },
  {},
);

/** Every door there is can be opened or closed; another word is no door. */
const openDoors = fields({}, Object.fromEntries(doors.map(({ name }) => [name, flag])));

const commandLimits = fields(
  {},
  {
    memory: BYTE_SIZE,
    processes: count(1),
    file_size: BYTE_SIZE,
    open_files: count(16),
    cpu: DURATION,
  },
);

const limits = fields(
  {},
  { pods: count(1), runs: count(1), queue: count(1), watcher: count(1), commands: commandLimits },
);

const approvals = fields({}, { deadline: DURATION, fallback: choice(DEADLINE_FALLBACKS) });

/** The whole configuration file, key by key: what is not in this table is not in the format. */
export const CONFIG = fields(
  {},
  {
    version: number(String(CONFIG_VERSION), (version) => version === CONFIG_VERSION),
    model: text('a model, as account/id'),
    permissions,
    sandbox,
    stream_rules: listOf(streamRule),
    mcp_servers: MCP_SERVERS,
    doors: openDoors,
    tasks: TASKS,
    sockets,
    limits,
    hibernate_after: DURATION,
    durability: choice(['full', 'relaxed', 'none']),
    approvals,
    shutdown_grace: DURATION,
    log: fields({}, { level: choice(LOG_LEVELS) }),
    audit: fields({}, { file_mb: count(1), file_days: count(1), keep_files: count(1) }),
    accounts: mapOf(
      accountName,
      ruled(account, ({ vendor, wire, base_url, key_env, key_file, key }, path) => {
        const given = Object.entries({ key_env, key_file, key }).filter(([, value]) => value !== undefined);
        if (given.length > 1) return `has ${given.map(([name]) => name).join(' and ')}: keep one of them`;
        const complete = wire !== undefined && base_url !== undefined;
        if (complete || vendorNamed(vendor ?? String(path.at(-1))) !== undefined) return undefined;
        return 'is not the name of a vendor: add vendor, or both wire and base_url';
      }),
    ),
  },
);

/** The file as it was written, once nothing is wrong with it. */
export type StatedConfig = shape.ValueOf<typeof CONFIG>;
export type StatedLimits = shape.ValueOf<typeof commandLimits>;
export type StatedAccount = shape.ValueOf<typeof account>;

function isExpression(text: string): boolean {
  try {
    return new RegExp(text, 'u').source !== '';
  } catch {
    return false;
  }
}
