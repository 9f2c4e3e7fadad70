import { dirname, isAbsolute, join, resolve } from 'node:path';
import { namesIn } from '../../base/index.ts';
import type { Environment } from '../../llm/index.ts';
import { hldSocketPath } from '../../protocols/index.ts';
import { isInside, realPath } from '../../tools/index.ts';
import type { Config } from '../config/config.ts';
import { type DataPaths, dataPathsFrom } from '../paths/data-paths.ts';

export interface OwnPathsOptions {
  readonly env: Environment;
  readonly dataPaths: DataPaths;
  readonly config: Pick<Config, 'accounts' | 'daemon' | 'extensions' | 'webSearch'>;
  /** Further files: the configuration file of an agent, and the files that it names. */
  readonly files?: readonly string[];
}

/**
 * Every path that belongs to Polypod itself: configuration, rules, sessions, keys, sockets, cached files. An agent must
 * not change them, and a sandboxed command must not see them. A directory includes everything in it. Paths are
 * absolute; where a link leads elsewhere, both paths are listed. Paths that do not exist yet are listed too.
 *
 * A directory of ours that contains the working directory is replaced by the entries that we create in it: otherwise the
 * agent could not work there at all.
 */
export async function ownPaths(options: OwnPathsOptions, cwd: string): Promise<readonly string[]> {
  const listed = listPaths(options).map((path) => resolve(path));
  const real = await Promise.all(listed.map(realLocation));
  const workspace = await realLocation(cwd);
  const all = [...listed, ...real].flatMap((path) => (isInside(path, workspace) ? ownEntries(path) : [path]));
  return [...new Set(all)].filter((path) => !isInside(path, workspace)).toSorted();
}

function listPaths({ env, dataPaths, config, files = [] }: OwnPathsOptions): readonly string[] {
  // The default directories may hold secrets even if others are in use.
  const defaults = dataPathsFrom({
    HOME: dataPaths.home,
    XDG_CONFIG_HOME: env.XDG_CONFIG_HOME,
    XDG_DATA_HOME: env.XDG_DATA_HOME,
    XDG_CACHE_HOME: env.XDG_CACHE_HOME,
    XDG_RUNTIME_DIR: env.XDG_RUNTIME_DIR,
  });
  const { configFile, modelsFile, rulesFile, dataDirectory, cacheDirectory, runtimeDirectory } = dataPaths;
  const hldSocket = hldSocketPath(env.HUMANLAYER_DAEMON_SOCKET, dataPaths.home);
  return [
    dirname(defaults.configFile),
    defaults.dataDirectory,
    defaults.runtimeDirectory,
    configFile,
    modelsFile,
    rulesFile,
    dataDirectory,
    cacheDirectory,
    runtimeDirectory,
    ...runtimeDirectoriesIn(env.XDG_RUNTIME_DIR),
    join(dataPaths.home, '.humanlayer'),
    hldSocket,
    ...(env.POLYPOD_AGENT_CONFIG ? [env.POLYPOD_AGENT_CONFIG] : []),
    ...(env.POLYPOD_API_KEY_FILE ? [env.POLYPOD_API_KEY_FILE] : []),
    ...(env.GOOGLE_APPLICATION_CREDENTIALS ? [env.GOOGLE_APPLICATION_CREDENTIALS] : []),
    ...keyFiles(config, dataPaths),
    // An agent that changes an extension would run code without approval.
    ...config.extensions,
    ...files,
  ];
}

/** The directories with Polypod's sockets, and sockets in other directories. */
export function socketPaths({
  env,
  dataPaths,
}: Pick<OwnPathsOptions, 'env' | 'dataPaths'>): readonly string[] {
  return [
    dataPaths.runtimeDirectory,
    ...runtimeDirectoriesIn(env.XDG_RUNTIME_DIR),
    hldSocketPath(env.HUMANLAYER_DAEMON_SOCKET, dataPaths.home),
  ];
}

/** Files that the configuration names as the location of a key. */
function keyFiles(
  { accounts, daemon, webSearch }: Pick<Config, 'accounts' | 'daemon' | 'webSearch'>,
  dataPaths: DataPaths,
): readonly string[] {
  const { tls, webhooks = [] } = daemon.tasks ?? {};
  const named = [tls?.key, ...webhooks.map(({ secret_file }) => secret_file)].filter(
    (path) => path !== undefined,
  );
  const sources = [
    ...accounts.flatMap(({ key, headers = {} }) => [key, ...Object.values(headers)]),
    webSearch?.key,
  ];
  return [
    ...sources.flatMap((value) =>
      typeof value === 'object' && 'source' in value && isAbsolute(value.source) ? [value.source] : [],
    ),
    ...named.map((path) =>
      resolve(dirname(dataPaths.configFile), path.replace(/^~(?=\/|$)/, dataPaths.home)),
    ),
  ];
}

/** The runtime directories of all data directories. */
function runtimeDirectoriesIn(base: string | undefined): readonly string[] {
  if (base === undefined || !isAbsolute(base)) return [];
  return namesIn(base)
    .filter((name) => /^polypod(?:-[\da-f]+)?$/.test(name))
    .map((name) => join(base, name));
}

/** The entries that Polypod creates in any of its directories. */
function ownEntries(directory: string): readonly string[] {
  return OWN_NAMES.split(' ').map((name) => join(directory, name));
}

const OWN_NAMES =
  'config.yaml keys models.json rules.json catalogue.jsonl catalogue.jsonl.lock sessions feeds commands trash logs tasks daemon.lock run daemon.sock rpc.sock pods outputs';

async function realLocation(path: string): Promise<string> {
  const found = await realPath(path);
  return 'problem' in found ? path : found.real;
}
