import { homedir } from 'node:os';
import { dirname, isAbsolute, join } from 'node:path';
import type { Environment } from '../llm/index.ts';

/** Where Polypod keeps what on this machine. */
export interface Places {
  readonly home: string;
  readonly configFile: string;
  /** The user's own models, beside the configuration. */
  readonly modelsFile: string;
  /** What `polypod models refresh` brought last; may be deleted at any time. */
  readonly refreshedModelsFile: string;
  /** Sessions, feeds and the catalogue: what must not be lost. */
  readonly dataDirectory: string;
  /** What can be made again. */
  readonly cacheDirectory: string;
}

/** The places as the XDG base directory specification lays them out; POLYPOD_CONFIG names another configuration file. */
export function placesFrom(env: Environment): Places {
  const home = given(env.HOME) ?? homedir();
  const base = (variable: string, ...otherwise: string[]) =>
    join(absolute(env[variable]) ?? join(home, ...otherwise), 'polypod');
  const configFile = given(env.POLYPOD_CONFIG) ?? join(base('XDG_CONFIG_HOME', '.config'), 'config.yaml');
  const cacheDirectory = base('XDG_CACHE_HOME', '.cache');
  return {
    home,
    configFile,
    modelsFile: join(dirname(configFile), 'models.json'),
    refreshedModelsFile: join(cacheDirectory, 'models.json'),
    dataDirectory: base('XDG_DATA_HOME', '.local', 'share'),
    cacheDirectory,
  };
}

/** The specification has relative paths ignored. */
function absolute(path: string | undefined): string | undefined {
  return path !== undefined && isAbsolute(path) ? path : undefined;
}

function given(path: string | undefined): string | undefined {
  return path === '' ? undefined : path;
}
