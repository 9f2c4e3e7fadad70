import { PERMISSION_MODES } from '../../tools/index.ts';
import { isSecretName, shape } from '../../base/index.ts';
import { KEY_SCOPES } from '../../protocols/index.ts';
import { DURATION } from './duration.ts';

const { choice, count, fields, flag, listOf, number, ruled, text } = shape;

const PORT = number(
  'a port from 0 to 65535',
  (port) => Number.isInteger(port) && port >= 0 && port <= 65_535,
);

/** Commands of models do not get to see variables that are called so. */
const secretVariable = text(
  'the name of an environment variable that ends in _KEY or _TOKEN, or has SECRET in it',
  (name) => /^[A-Za-z_]\w*$/.test(name) && isSecretName(name),
);

/** What an agent is called; also a part of file names. */
export const AGENT_NAME = text('a name of at most 64 letters, digits, dots, dashes and underscores', (name) =>
  /^[A-Za-z0-9][\w.-]{0,63}$/.test(name),
);

const path = text('a path');

const hook = ruled(
  fields(
    { url: text('an http or https address without a user in it', isAddress) },
    { secret_env: secretVariable, secret_file: path, allow_private: flag },
  ),
  ({ secret_env, secret_file }) =>
    (secret_env === undefined) === (secret_file === undefined)
      ? 'needs one of secret_env and secret_file: what is sent is signed with it'
      : undefined,
);

/** A program of the user's own that speaks this protocol, and where it will answer. */
const program = fields(
  {
    command: ruled(listOf(text()), (words) =>
      words.length === 0 ? 'needs a program and its arguments' : undefined,
    ),
    url: text('an http or https address without a user in it', isAddress),
  },
  {},
);

const limits = fields(
  {},
  {
    pending: count(1),
    streams: count(1),
    requests_per_minute: count(1),
    burst: count(1),
    unauthenticated_per_minute: count(1),
    handshakes_per_minute: count(1),
    connections: count(1),
    connections_per_address: count(1),
    handshake_timeout: DURATION,
    headers_timeout: DURATION,
    request_timeout: DURATION,
    delegations: count(0),
  },
);

/** The agent that is reached over HTTP: `tasks` in config.yaml, and the whole of agent-config.yaml. */
export const TASKS = fields(
  {},
  {
    name: AGENT_NAME,
    start: program,
    address: text('an address such as 127.0.0.1', (address) => /^[\w.:-]+$/.test(address)),
    port: PORT,
    tls: fields({ cert: path, key: path }, { client_ca: path }),
    behind_proxy: flag,
    no_auth: flag,
    hosts: listOf(text('a name without a port', (name) => /^[\w.-]+$/.test(name))),
    origins: listOf(text('an origin such as https://ui.example', isOrigin)),
    directory: path,
    directories: listOf(path),
    mode: choice(PERMISSION_MODES),
    model: text('a model, as account/id'),
    four_eyes: flag,
    keys: listOf(
      fields({ env: secretVariable, owner: text('a name'), scopes: listOf(choice(KEY_SCOPES)) }, {}),
    ),
    webhooks: listOf(hook),
    limits,
  },
);

/** As it was written, once nothing is wrong with it. */
export type StatedTasks = shape.ValueOf<typeof TASKS>;

function isAddress(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password } = new URL(text);
  return /^https?:$/.test(protocol) && username === '' && password === '';
}

function isOrigin(text: string): boolean {
  return isAddress(text) && new URL(text).origin === text;
}
