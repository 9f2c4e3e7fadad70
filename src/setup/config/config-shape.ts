import { PERMISSION_MODES, SEARCH_PROVIDER_NAMES, SEARCH_PROVIDERS } from '../../tools/index.ts';
import { BACKEND_NAME, DEADLINE_FALLBACKS } from '../../pod/index.ts';
import { isObject, LOG_LEVELS, shape, tryOrUndefined } from '../../base/index.ts';
import {
  httpUrl,
  GOOGLE_LOCATION,
  GOOGLE_PROJECT,
  isAwsRegion,
  VENDORS,
  findVendor,
  PROVIDER_APIS,
} from '../../llm/index.ts';
import { MCP_SERVERS } from '../../mcp/index.ts';
import { doors } from '../../registry.ts';
import { BYTE_SIZE } from './byte-size.ts';
import { DURATION } from './duration.ts';
import { RULE } from './rule-shape.ts';
import { TASKS } from './tasks-shape.ts';

/** The version of the format. A file without a version has version 1. */
export const CONFIG_VERSION = 1;

const { choice, integerFrom, fields, boolean, listOf, mapOf, number, refined, text } = shape;

const accountName = text('a name of letters, digits, dots, dashes and underscores', (name) =>
  /^[A-Za-z0-9][\w.-]*$/.test(name),
);

const line = text('text without line breaks', (value) => /^[\x20-\x7e]+$/.test(value));
const variable = text('the name of an environment variable', (name) => /^[A-Za-z_]\w*$/.test(name));

/** The value of a header: the text itself, or where it is. */
const headerValue: shape.Shape<string | { readonly env?: string; readonly file?: string }> = {
  schema: { type: ['string', 'object'] },
  read: (value, path, report) =>
    isObject(value) ? HEADER_SOURCE.read(value, path, report) : line.read(value, path, report),
};
const HEADER_SOURCE = refined(
  fields({}, { env: variable, file: text('the path of a file') }),
  ({ env, file }) =>
    (env === undefined) === (file === undefined) ? 'must have either env or file' : undefined,
);

const headers = mapOf(
  text('the name of a header', (name) => /^[\w!#$%&'*+.^`|~-]+$/.test(name)),
  headerValue,
);

const account = fields(
  {},
  {
    vendor: choice(VENDORS.map(({ name }) => name)),
    wire: choice(PROVIDER_APIS),
    base_url: text('an http or https address like https://host/v1', (url) => httpUrl(url) !== undefined),
    key_env: variable,
    key_file: text('the path of a file that holds the key'),
    key_command: refined(listOf(text('a word of the command')), (words) =>
      words.length === 0 ? 'must name a program' : undefined,
    ),
    key_expires_after: DURATION,
    key_keyring: boolean,
    key: text('the key as text'),
    headers,
    query: mapOf(text('the name of a parameter'), line),
    omit: listOf(text('the name of a field')),
    project: text('the id of a Google Cloud project', (id) => GOOGLE_PROJECT.test(id)),
    location: text('a location of Google Cloud, such as global or europe-west4', (name) =>
      GOOGLE_LOCATION.test(name),
    ),
    region: text('an AWS region like us-east-1', isAwsRegion),
    profile: line,
    role_arn: text('the ARN of a role like arn:aws:iam::123456789012:role/NAME', (arn) =>
      /^arn:aws[\w-]*:iam::\d{12}:role\/[\w+=,.@/-]+$/.test(arn),
    ),
  },
);

const permissions = fields(
  {},
  {
    mode: choice(PERMISSION_MODES),
    rules: listOf(RULE),
    allow_paths: listOf(text('a path')),
    private_hosts: listOf(text('a host name or address', (name) => /^[\w.:-]+$/.test(name))),
    pass_env: listOf(text('the name of an environment variable', (name) => /^[A-Za-z_]\w*$/.test(name))),
    isolate_commands: choice(['auto', 'off']),
  },
);

const webSearch = refined(
  fields(
    { provider: choice(SEARCH_PROVIDER_NAMES) },
    {
      base_url: text('an http or https address like https://host', (url) => httpUrl(url) !== undefined),
      key_env: variable,
      key_file: text('the path of a file that holds the key'),
    },
  ),
  ({ provider, base_url }) => {
    const { title, baseUrl } = SEARCH_PROVIDERS[provider];
    return (base_url ?? baseUrl) === undefined
      ? `needs base_url, the address of your ${title} server`
      : undefined;
  },
);

const sockets = fields({}, { allow_agent_processes: boolean });

const sandboxPath = text('an absolute path, or one that begins with ~/', (path) => /^(?:\/|~\/)/.test(path));

const sandbox = fields(
  {},
  {
    enabled: boolean,
    read: listOf(sandboxPath),
    hide: listOf(sandboxPath),
    show: listOf(sandboxPath),
    tmp_mb: integerFrom(1),
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

/** Every door can be opened or closed; unknown names are rejected. */
const openDoors = fields({}, Object.fromEntries(doors.map(({ name }) => [name, boolean])));

const commandLimits = fields(
  {},
  {
    memory: BYTE_SIZE,
    processes: integerFrom(1),
    file_size: BYTE_SIZE,
    open_files: integerFrom(16),
    cpu: DURATION,
  },
);

const backgroundLimits = fields({}, { running: integerFrom(1), time: DURATION });

const limits = fields(
  {},
  {
    pods: integerFrom(1),
    runs: integerFrom(1),
    queue: integerFrom(1),
    watcher: integerFrom(1),
    commands: commandLimits,
    background: backgroundLimits,
  },
);

const command = refined(listOf(text('a word of the command')), (words) =>
  words.length === 0 ? 'must name a program' : undefined,
);

const backend = fields(
  {},
  {
    command,
    env: mapOf(variable, shape.anyText),
    pass_env: listOf(variable),
    trust_project: boolean,
    probe: boolean,
  },
);

const approvals = fields({}, { deadline: DURATION, fallback: choice(DEADLINE_FALLBACKS) });

/** The shape of the configuration file. Unknown keys are rejected. */
export const CONFIG = fields(
  {},
  {
    version: number(String(CONFIG_VERSION), (version) => version === CONFIG_VERSION),
    model: text('a model, as account/id'),
    backend: BACKEND_NAME,
    backends: mapOf(BACKEND_NAME, backend),
    titles: choice(['model', 'prompt', 'off']),
    title_model: text('a model, as account/id'),
    notify: fields({}, { bell: boolean, title: boolean, desktop: boolean }),
    permissions,
    sandbox,
    stream_rules: listOf(streamRule),
    web_search: webSearch,
    mcp_servers: MCP_SERVERS,
    extensions: listOf(text('the path of a module')),
    doors: openDoors,
    tasks: TASKS,
    sockets,
    limits,
    hibernate_after: DURATION,
    durability: choice(['full', 'relaxed', 'none']),
    approvals,
    shutdown_grace: DURATION,
    log: fields({}, { level: choice(LOG_LEVELS) }),
    audit: fields({}, { file_mb: integerFrom(1), file_days: integerFrom(1), keep_files: integerFrom(1) }),
    accounts: mapOf(
      accountName,
      refined(account, (stated, path) => {
        const { vendor, wire, base_url, key_env, key_file, key_command, key } = stated;
        const key_keyring = stated.key_keyring === true ? true : undefined;
        const keys = Object.entries({ key_env, key_file, key_command, key_keyring, key }).filter(
          ([, value]) => value !== undefined,
        );
        if (keys.length > 1) return `has ${keys.map(([name]) => name).join(' and ')}: keep one of them`;
        if (stated.key_expires_after !== undefined && key_command === undefined)
          return 'has key_expires_after, which belongs to key_command';
        const isGoogleCloud = findVendor(vendor ?? String(path.at(-1)))?.googleCloud === true;
        if (isGoogleCloud && wire !== undefined)
          return 'has wire, but its models determine the API: remove it';
        if (!isGoogleCloud && (stated.project ?? stated.location) !== undefined)
          return 'has project or location, which belong to the vendor vertex';
        const { region, profile, role_arn } = stated;
        const aws = Object.entries({ region, profile, role_arn }).find(([, value]) => value !== undefined);
        const api = wire ?? findVendor(vendor ?? String(path.at(-1)))?.api;
        if (aws !== undefined && api !== 'bedrock')
          return `has ${aws[0]}, which belongs to the vendor bedrock`;
        if (keys.length > 0 && (profile ?? role_arn) !== undefined)
          return `has ${keys[0]?.[0]} and ${profile === undefined ? 'role_arn' : 'profile'}: keep the key or the credentials of AWS`;
        const complete = wire !== undefined && base_url !== undefined;
        if (complete || findVendor(vendor ?? String(path.at(-1))) !== undefined) return undefined;
        return 'is not the name of a vendor: add vendor, or both wire and base_url';
      }),
    ),
  },
);

/** The validated file, before conversion. */
export type RawConfig = shape.ValueOf<typeof CONFIG>;
export type RawLimits = shape.ValueOf<typeof commandLimits>;
export type RawBackgroundLimits = shape.ValueOf<typeof backgroundLimits>;
export type RawBackend = shape.ValueOf<typeof backend>;
export type RawAccount = shape.ValueOf<typeof account>;

function isExpression(text: string): boolean {
  return tryOrUndefined(() => new RegExp(text, 'u').source !== '') ?? false;
}
