import { PERMISSION_MODES } from '../../tools/index.ts';
import { isSecretName, shape } from '../../base/index.ts';
import { KEY_SCOPES } from '../../protocols/index.ts';
import { DURATION } from './duration.ts';

const { choice, integerFrom, fields, boolean, listOf, number, refined, text } = shape;

const PORT = number(
  'a port from 0 to 65535',
  (port) => Number.isInteger(port) && port >= 0 && port <= 65_535,
);

/** Variables with such names are not passed to agents' commands. */
const secretVariable = text(
  'the name of an environment variable that ends in _KEY or _TOKEN, or has SECRET in it',
  (name) => /^[A-Za-z_]\w*$/.test(name) && isSecretName(name),
);

/** An agent's name; also used in file names. */
export const AGENT_NAME = text('a name of at most 64 letters, digits, dots, dashes and underscores', (name) =>
  /^[A-Za-z0-9][\w.-]{0,63}$/.test(name),
);

const path = text('a path');

const hook = refined(
  fields(
    { url: text('an http or https address without a user in it', isAddress) },
    { secret_env: secretVariable, secret_file: path, allow_private: boolean },
  ),
  ({ secret_env, secret_file }) =>
    (secret_env === undefined) === (secret_file === undefined)
      ? 'needs one of secret_env and secret_file: requests are signed with it'
      : undefined,
);

/** A user's program that serves this protocol, and its address. */
const program = fields(
  {
    command: refined(listOf(text()), (words) =>
      words.length === 0 ? 'needs a program and its arguments' : undefined,
    ),
    url: text('an http or https address without a user in it', isAddress),
  },
  {},
);

const limits = fields(
  {},
  {
    pending: integerFrom(1),
    streams: integerFrom(1),
    requests_per_minute: integerFrom(1),
    burst: integerFrom(1),
    unauthenticated_per_minute: integerFrom(1),
    handshakes_per_minute: integerFrom(1),
    connections: integerFrom(1),
    connections_per_address: integerFrom(1),
    handshake_timeout: DURATION,
    headers_timeout: DURATION,
    request_timeout: DURATION,
    delegations: integerFrom(0),
  },
);

/** The agent that is available over HTTP: `tasks` in config.yaml, and the content of agent-config.yaml. */
export const TASKS = fields(
  {},
  {
    name: AGENT_NAME,
    start: program,
    address: text('an address such as 127.0.0.1', (address) => /^[\w.:-]+$/.test(address)),
    port: PORT,
    tls: fields({ cert: path, key: path }, { client_ca: path }),
    behind_proxy: boolean,
    no_auth: boolean,
    hosts: listOf(text('a name without a port', (name) => /^[\w.-]+$/.test(name))),
    origins: listOf(text('an origin such as https://ui.example', isOrigin)),
    directory: path,
    directories: listOf(path),
    mode: choice(PERMISSION_MODES),
    model: text('a model, as account/id'),
    four_eyes: boolean,
    keys: listOf(
      fields({ env: secretVariable, owner: text('a name'), scopes: listOf(choice(KEY_SCOPES)) }, {}),
    ),
    webhooks: listOf(hook),
    limits,
  },
);

/** The validated value, before conversion. */
export type RawTasks = shape.ValueOf<typeof TASKS>;

function isAddress(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password } = new URL(text);
  return /^https?:$/.test(protocol) && username === '' && password === '';
}

function isOrigin(text: string): boolean {
  return isAddress(text) && new URL(text).origin === text;
}
