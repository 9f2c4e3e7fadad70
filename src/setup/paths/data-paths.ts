import { createHash } from 'node:crypto';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import type { Environment } from '../../llm/index.ts';

/** Where Polypod keeps what on this machine. */
export interface DataPaths {
  readonly home: string;
  readonly configFile: string;
  /** The user's own models, beside the configuration. */
  readonly modelsFile: string;
  /** The rules that answering "always" has made, beside the configuration too. */
  readonly rulesFile: string;
  /** What `polypod models refresh` brought last; may be deleted at any time. */
  readonly refreshedModelsFile: string;
  /** Sessions, feeds and the catalogue: what must not be lost. */
  readonly dataDirectory: string;
  /** What can be made again. */
  readonly cacheDirectory: string;
  /** Sockets: a directory of its own for every data directory, only for its user. */
  readonly runtimeDirectory: string;
}

/** The daemon's own socket, by which the other commands reach it. */
export function controlSocket({ runtimeDirectory }: Pick<DataPaths, 'runtimeDirectory'>): string {
  return join(runtimeDirectory, 'daemon.sock');
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

/** The keys of the agents, and the records of where they run. */
export function tasksDirectory({ dataDirectory }: Pick<DataPaths, 'dataDirectory'>): string {
  return join(dataDirectory, 'tasks');
}

/** The keys of all agents of a data directory, as hashes. */
export function keysFile(dataPaths: Pick<DataPaths, 'dataDirectory'>): string {
  return join(tasksDirectory(dataPaths), 'keys.json');
}

/** Whose lock it is to be the daemon of a data directory. */
export function daemonLock({ dataDirectory }: Pick<DataPaths, 'dataDirectory'>): string {
  return join(dataDirectory, 'daemon');
}

/**
 * The places as the XDG base directory specification lays them out. POLYPOD_CONFIG names another configuration file,
 * POLYPOD_DATA_DIR another data directory, which an argument overrides, POLYPOD_RUNTIME_DIR another place for sockets.
 */
export function dataPathsFrom(
  env: Environment,
  asked: { readonly dataDirectory?: string | undefined } = {},
): DataPaths {
  const home = given(env.HOME) ?? homedir();
  const base = (variable: string, ...otherwise: string[]) =>
    join(absolute(env[variable]) ?? join(home, ...otherwise), 'polypod');
  const configFile = given(env.POLYPOD_CONFIG) ?? join(base('XDG_CONFIG_HOME', '.config'), 'config.yaml');
  const cacheDirectory = base('XDG_CACHE_HOME', '.cache');
  const usual = base('XDG_DATA_HOME', '.local', 'share');
  const wanted = given(asked.dataDirectory) ?? given(env.POLYPOD_DATA_DIR);
  const dataDirectory = wanted === undefined ? usual : resolve(wanted);
  return {
    home,
    configFile,
    modelsFile: join(dirname(configFile), 'models.json'),
    rulesFile: join(dirname(configFile), 'rules.json'),
    refreshedModelsFile: join(cacheDirectory, 'models.json'),
    dataDirectory,
    cacheDirectory,
    runtimeDirectory: runtimeDirectory(env, home, dataDirectory),
  };
}

/** Socket paths are short by law, and a data directory may be deep: only where there is nothing else are they inside of it. */
function runtimeDirectory(env: Environment, home: string, dataDirectory: string): string {
  const asked = given(env.POLYPOD_RUNTIME_DIR);
  if (asked !== undefined) return resolve(asked);
  const base = absolute(env.XDG_RUNTIME_DIR);
  if (base === undefined) return join(dataDirectory, 'run');
  if (dataDirectory === join(home, '.local', 'share', 'polypod')) return join(base, 'polypod');
  // Two data directories are two daemons, with sockets of their own.
  return join(base, `polypod-${createHash('sha256').update(dataDirectory).digest('hex').slice(0, 12)}`);
}

/** The specification has relative paths ignored. */
function absolute(path: string | undefined): string | undefined {
  return path !== undefined && isAbsolute(path) ? path : undefined;
}

function given(path: string | undefined): string | undefined {
  return path === '' ? undefined : path;
}
