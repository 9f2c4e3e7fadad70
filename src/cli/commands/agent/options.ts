import { resolve } from 'node:path';
import { PolypodError, withoutUndefined } from '../../../base/index.ts';
import type { AgentOrder } from '../../../daemon/index.ts';
import { AGENT_NAME } from '../../../setup/index.ts';
import type { CommandContext } from '../../command.ts';
import { PERMISSION_MODES } from '../../../tools/index.ts';
import type { Values } from '../../options.ts';
import { DAEMON_OPTIONS } from '../../hosting/run-daemon.ts';

export const OPTIONS = {
  port: {
    type: 'number',
    short: 'p',
    value: 'PORT',
    min: 0,
    max: 65_535,
    help: 'start: the port to listen on (default: POLYPOD_AGENT_PORT, the configuration, or 8000; 0 for any)',
  },
  address: {
    type: 'text',
    value: 'ADDRESS',
    help: 'start: the address to listen on (default: POLYPOD_AGENT_ADDRESS, the configuration, or 127.0.0.1)',
  },
  config: {
    type: 'text',
    short: 'c',
    value: 'FILE',
    help: 'start: the configuration file (default: POLYPOD_AGENT_CONFIG, or tasks in config.yaml)',
  },
  'tls-cert': { type: 'text', value: 'FILE', help: 'start: the TLS certificate, as PEM' },
  'tls-key': { type: 'text', value: 'FILE', help: "start: the certificate's key, as PEM" },
  'client-ca': {
    type: 'text',
    value: 'FILE',
    help: 'start: require client certificates of this authority, as PEM; requires --tls-cert',
  },
  'behind-proxy': { type: 'flag', help: 'start: a reverse proxy terminates TLS' },
  'no-auth': { type: 'flag', help: 'start: accept requests without keys, on a loopback address only' },
  cwd: {
    type: 'text',
    short: 'C',
    value: 'DIR',
    help: 'start: the working directory of tasks (default: this directory)',
  },
  mode: { type: 'choice', choices: PERMISSION_MODES, help: 'start: the highest permission mode of tasks' },
  prompt: { type: 'text', value: 'TEXT', help: 'start: submit TEXT as the first task' },
  foreground: {
    type: 'flag',
    help: 'start: keep running until Ctrl-C, and log to stderr unless a daemon was already running',
  },
  ...DAEMON_OPTIONS,
} as const;

export type AgentValues = Values<typeof OPTIONS>;

/** Options whose help begins with `start:` do not apply to the other actions. */
export function refuseStartOptions(action: string, values: AgentValues): void {
  const given: Readonly<Record<string, unknown>> = values;
  for (const [name, { help }] of Object.entries(OPTIONS))
    if (help.startsWith('start:') && given[name] !== undefined && given[name] !== false)
      throw new PolypodError('bad-request', `agent ${action} takes no --${name}; agent start does`);
}

/** Reads the agent from the command line and the environment. Paths are made absolute, because another process may read them. */
export function orderFrom(
  name: string | undefined,
  values: AgentValues,
  { env }: CommandContext,
): AgentOrder {
  const { 'tls-cert': cert, 'tls-key': key, 'client-ca': clientCa, mode } = values;
  if ((cert === undefined) !== (key === undefined))
    throw new PolypodError(
      'bad-request',
      'a certificate and its key belong together: give both --tls-cert and --tls-key',
    );
  if (clientCa !== undefined && cert === undefined)
    throw new PolypodError(
      'bad-request',
      '--client-ca needs TLS: give --tls-cert and --tls-key too, or write tls.client_ca into the configuration',
    );
  const port = values.port ?? portIn(env.POLYPOD_AGENT_PORT);
  const address = values.address ?? (env.POLYPOD_AGENT_ADDRESS || undefined);
  const config = values.config ?? (env.POLYPOD_AGENT_CONFIG || undefined);
  return {
    cwd: resolve(values.cwd ?? '.'),
    config: config === undefined ? undefined : resolve(config),
    stated: {
      ...withoutUndefined({ name, port, address }),
      ...(cert !== undefined &&
        key !== undefined && {
          tls: {
            cert: resolve(cert),
            key: resolve(key),
            ...(clientCa !== undefined && { client_ca: resolve(clientCa) }),
          },
        }),
      ...(values['behind-proxy'] && { behind_proxy: true }),
      ...(values['no-auth'] && { no_auth: true }),
      ...withoutUndefined({ mode }),
    },
  };
}

/** Converts the order to arguments for a separate process. */
export function argumentsFor(
  name: string | undefined,
  { cwd, config, stated }: AgentOrder,
): readonly string[] {
  const { port, address, tls, behind_proxy, no_auth, mode } = stated;
  return [
    ...(name === undefined ? [] : [name]),
    '--cwd',
    cwd,
    ...(config === undefined ? [] : ['--config', config]),
    ...(port === undefined ? [] : ['--port', String(port)]),
    ...(address === undefined ? [] : ['--address', address]),
    ...(tls === undefined ? [] : ['--tls-cert', tls.cert, '--tls-key', tls.key]),
    ...(tls?.client_ca === undefined ? [] : ['--client-ca', tls.client_ca]),
    ...(behind_proxy === true ? ['--behind-proxy'] : []),
    ...(no_auth === true ? ['--no-auth'] : []),
    ...(mode === undefined ? [] : ['--mode', mode]),
  ];
}

export function agentName(word: string | undefined): string | undefined {
  if (word === undefined || AGENT_NAME.read(word, [], () => {}) !== undefined) return word;
  throw new PolypodError(
    'bad-request',
    `an agent cannot be called "${word}": a name has at most 64 letters, digits, dots, dashes and underscores`,
  );
}

function portIn(text: string | undefined): number | undefined {
  if (text === undefined || text === '') return undefined;
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text);
  throw new PolypodError('bad-request', `POLYPOD_AGENT_PORT is "${text}": it must be a port from 0 to 65535`);
}
