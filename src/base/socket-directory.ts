import { homedir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';

type Environment = Readonly<Record<string, string | undefined>>;

/** The data directory: the requested one, POLYPOD_DATA_DIR, or the one of the XDG base directory specification. */
export function dataDirectoryFrom(env: Environment, requested?: string): string {
  const given = nonEmpty(requested) ?? nonEmpty(env.POLYPOD_DATA_DIR);
  if (given !== undefined) return resolve(given);
  return join(absolute(env.XDG_DATA_HOME) ?? join(homeFrom(env), '.local', 'share'), 'polypod');
}

/** The directory for files that can be recreated. */
export function cacheDirectoryFrom(env: Environment): string {
  return join(absolute(env.XDG_CACHE_HOME) ?? join(homeFrom(env), '.cache'), 'polypod');
}

/**
 * The directory of the sockets of a data directory. The system limits the length of socket paths, so the data directory, which may
 * be deep, is only used as a last resort.
 */
export function socketDirectory(env: Environment, dataDirectory: string): string {
  const override = nonEmpty(env.POLYPOD_RUNTIME_DIR);
  if (override !== undefined) return resolve(override);
  const base = absolute(env.XDG_RUNTIME_DIR);
  if (base === undefined) return join(dataDirectory, 'run');
  if (dataDirectory === join(homeFrom(env), '.local', 'share', 'polypod')) return join(base, 'polypod');
  // Every data directory has its own daemon and sockets. The module is loaded on first use, as for ids.
  const { createHash } = process.getBuiltinModule('node:crypto');
  return join(base, `polypod-${createHash('sha256').update(dataDirectory).digest('hex').slice(0, 12)}`);
}

/** The name of the daemon's socket in the directory of the sockets. */
export const DAEMON_SOCKET = 'daemon.sock';

export function homeFrom(env: Environment): string {
  return nonEmpty(env.HOME) ?? homedir();
}

/** Relative paths are ignored, as the specification requires. */
function absolute(path: string | undefined): string | undefined {
  return path !== undefined && isAbsolute(path) ? path : undefined;
}

function nonEmpty(path: string | undefined): string | undefined {
  return path === '' ? undefined : path;
}
