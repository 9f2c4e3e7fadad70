import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { messageOf, PolypodError, withoutUndefined } from '../../base/index.ts';
import type { Environment } from '../../llm/index.ts';
import { podLines, type TasksListener, type Monitoring } from '../../protocols/index.ts';
import { COMMAND_MODEL } from '../../setup/models/index.ts';
import { type DataPaths, refuseUnsafeFile } from '../../setup/paths/index.ts';
import { keysFile } from '../../setup/paths/index.ts';
import { proxiesFrom } from '../../wire/index.ts';
import type { RawTasks } from '../../setup/config/index.ts';

/** The settings of an agent, and the base of their paths. */
export interface TasksAgentRequest {
  readonly stated: RawTasks;
  /** The directory of the configuration file. */
  readonly from: string;
  /** The default working directory. */
  readonly cwd: string;
}

/** What a daemon provides to its tasks doors. */
export interface TasksParts extends Pick<TasksListener, 'modelNamed' | 'defaultMode' | 'isDraining'> {
  readonly env: Environment;
  readonly dataPaths: DataPaths;
  /** Called when a door with keys is open: from then on tasks of revoked keys are ended. */
  readonly watchKeys: () => void;
  /** The settings of the agent in config.yaml. */
  readonly configured: () => TasksAgentRequest;
  /** The number of events to buffer for one reader. */
  readonly watcher: number;
  readonly monitoring: Monitoring;
}

/** Resolves a path that is written in a file of this directory. */
export function pathFrom(from: string, path: string, { home }: Pick<DataPaths, 'home'>): string {
  return resolve(from, path.replace(/^~(?=\/|$)/, home));
}

/** Converts settings to a listener: reads certificates and secrets, and throws the errors. */
export async function tasksListener(
  { stated, from, cwd }: TasksAgentRequest,
  parts: TasksParts,
): Promise<TasksListener> {
  const { env, dataPaths, watcher, modelNamed, defaultMode, isDraining } = parts;
  const { name, address, port, hosts, origins, mode, model } = stated;
  const at = (path: string): string => pathFrom(from, path, dataPaths);
  refuseUnsafeFile('the file of keys', keysFile(dataPaths));
  const directory = stated.directory === undefined ? cwd : at(stated.directory);
  const keys = (stated.keys ?? []).map(({ env: variable, owner, scopes }) => ({
    key: valueOf(variable, env, 'tasks.keys'),
    owner,
    scopes,
  }));
  const webhooks = (stated.webhooks ?? []).map(async ({ url, secret_env, secret_file, allow_private }) => ({
    url,
    secret:
      secret_env !== undefined
        ? valueOf(secret_env, env, 'tasks.webhooks')
        : await fileOf('tasks.webhooks.secret_file', at(secret_file ?? ''), { isSecret: true }),
    ...withoutUndefined({ allowPrivate: allow_private }),
  }));
  return {
    ...withoutUndefined({ name, address, port }),
    ...(stated.tls && {
      tls: {
        cert: await fileOf('tasks.tls.cert', at(stated.tls.cert)),
        key: await fileOf('tasks.tls.key', at(stated.tls.key), { isSecret: true }),
        ...(stated.tls.client_ca !== undefined && {
          clientCa: await fileOf('tasks.tls.client_ca', at(stated.tls.client_ca)),
        }),
      },
    }),
    ...withoutUndefined({ behindProxy: stated.behind_proxy, noAuth: stated.no_auth, hosts, origins }),
    keyFile: keysFile(dataPaths),
    keys,
    cwd: directory,
    directories: [directory, ...(stated.directories ?? []).map(at)],
    ...withoutUndefined({ mode, defaultMode, model, fourEyes: stated.four_eyes }),
    modelNamed,
    ...withoutUndefined({ isDraining }),
    command: { model: COMMAND_MODEL, tool: 'bash' },
    project: await podLines(watcher),
    webhooks: await Promise.all(webhooks),
    ...withoutUndefined({ proxies: proxiesFrom(env) }),
    limits: limitsOf(stated.limits ?? {}),
  };
}

function limitsOf(stated: NonNullable<RawTasks['limits']>): NonNullable<TasksListener['limits']> {
  const { requests_per_minute: perMinute, burst, request_timeout: requestMs } = stated;
  const { unauthenticated_per_minute: unauthenticated, handshakes_per_minute: handshakes } = stated;
  return {
    ...withoutUndefined({
      pending: stated.pending,
      streams: stated.streams,
      delegations: stated.delegations,
    }),
    ...(perMinute !== undefined && {
      rate: { perMinute, burst: burst ?? Math.max(1, Math.round(perMinute / 6)) },
    }),
    ...(unauthenticated !== undefined && {
      unauthenticated: { perMinute: unauthenticated, burst: Math.max(1, Math.round(unauthenticated / 3)) },
    }),
    http: withoutUndefined({
      handshakes: handshakes === undefined ? undefined : { perMinute: handshakes, burst: handshakes },
      connections: stated.connections,
      connectionsPerAddress: stated.connections_per_address,
      handshakeMs: stated.handshake_timeout,
      headersMs: stated.headers_timeout,
      requestMs,
    }),
    webSocket: withoutUndefined({ messageMs: requestMs }),
  };
}

function valueOf(variable: string, env: Environment, setting: string): string {
  const value = env[variable];
  if (value !== undefined && value.length >= LEAST_SECRET) return value;
  throw new PolypodError(
    'bad-request',
    value === undefined || value === ''
      ? `${setting} names ${variable}, which is not set: set it before the agent is started`
      : `${variable} is shorter than ${LEAST_SECRET} characters: choose a secret that cannot be guessed`,
  );
}

/** The content of a file without the final line break that editors add. */
async function fileOf(setting: string, path: string, { isSecret = false } = {}): Promise<string> {
  refuseUnsafeFile(`the file of ${setting}`, path, { isSecret });
  try {
    return (await readFile(path, 'utf8')).trim();
  } catch (thrown) {
    throw new PolypodError('bad-request', `the file of ${setting} cannot be read: ${messageOf(thrown)}`, {
      cause: thrown,
    });
  }
}

const LEAST_SECRET = 16;
