import { dirname, isAbsolute, join } from 'node:path';
import type { Environment } from '../../llm/index.ts';
import {
  cacheDirectoryFrom,
  DAEMON_SOCKET,
  dataDirectoryFrom,
  homeFrom,
  socketDirectory,
} from '../../base/index.ts';

/** The locations of Polypod's files on this machine. */
export interface DataPaths {
  readonly home: string;
  readonly configFile: string;
  /** The user's own models, beside the configuration. */
  readonly modelsFile: string;
  /** The rules saved by answering "always", beside the configuration. */
  readonly rulesFile: string;
  /** The result of `polypod models refresh`; can be deleted at any time. */
  readonly refreshedModelsFile: string;
  /** Sessions, feeds and the catalogue, which must not be lost. */
  readonly dataDirectory: string;
  /** Files that can be recreated. */
  readonly cacheDirectory: string;
  /** Sockets; a separate directory for every data directory, accessible only for its user. */
  readonly runtimeDirectory: string;
}

/** The daemon's control socket. */
export function controlSocket({ runtimeDirectory }: Pick<DataPaths, 'runtimeDirectory'>): string {
  return join(runtimeDirectory, DAEMON_SOCKET);
}

/** The directory of the control sockets of commands that host their pods themselves. */
export function hostSockets({ runtimeDirectory }: Pick<DataPaths, 'runtimeDirectory'>): string {
  return join(runtimeDirectory, 'hosts');
}

/** The control socket of a process that hosts pods and is not the daemon. */
export function hostSocket(dataPaths: Pick<DataPaths, 'runtimeDirectory'>, pid: number): string {
  return join(hostSockets(dataPaths), `${pid}.sock`);
}

/** What the daemon writes about itself. */
export function daemonLogFile({ dataDirectory }: Pick<DataPaths, 'dataDirectory'>): string {
  return join(dataDirectory, 'logs', 'polypod.log');
}

/** Records of the commands that run for agents. */
export function commandsDirectory({ dataDirectory }: Pick<DataPaths, 'dataDirectory'>): string {
  return join(dataDirectory, 'commands');
}

/** The keys of the agents, and the records of running agents. */
export function tasksDirectory({ dataDirectory }: Pick<DataPaths, 'dataDirectory'>): string {
  return join(dataDirectory, 'tasks');
}

/** The keys of all agents of a data directory, as hashes. */
export function keysFile(dataPaths: Pick<DataPaths, 'dataDirectory'>): string {
  return join(tasksDirectory(dataPaths), 'keys.json');
}

/** The path whose lock the daemon of a data directory holds. */
export function daemonLock({ dataDirectory }: Pick<DataPaths, 'dataDirectory'>): string {
  return join(dataDirectory, 'daemon');
}

/**
 * The paths according to the XDG base directory specification. POLYPOD_CONFIG sets another configuration file,
 * POLYPOD_DATA_DIR another data directory, which an argument overrides, POLYPOD_RUNTIME_DIR another directory for sockets.
 */
export function dataPathsFrom(
  env: Environment,
  overrides: { readonly dataDirectory?: string | undefined } = {},
): DataPaths {
  const home = homeFrom(env);
  const base = (variable: string, ...fallback: string[]) =>
    join(absolute(env[variable]) ?? join(home, ...fallback), 'polypod');
  const configFile = nonEmpty(env.POLYPOD_CONFIG) ?? join(base('XDG_CONFIG_HOME', '.config'), 'config.yaml');
  const cacheDirectory = cacheDirectoryFrom(env);
  const dataDirectory = dataDirectoryFrom(env, overrides.dataDirectory);
  return {
    home,
    configFile,
    modelsFile: join(dirname(configFile), 'models.json'),
    rulesFile: join(dirname(configFile), 'rules.json'),
    refreshedModelsFile: join(cacheDirectory, 'models.json'),
    dataDirectory,
    cacheDirectory,
    runtimeDirectory: socketDirectory(env, dataDirectory),
  };
}

/** Relative paths are ignored, as the specification requires. */
function absolute(path: string | undefined): string | undefined {
  return path !== undefined && isAbsolute(path) ? path : undefined;
}

function nonEmpty(path: string | undefined): string | undefined {
  return path === '' ? undefined : path;
}
