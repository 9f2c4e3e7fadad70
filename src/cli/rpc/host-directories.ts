import { existsSync, realpathSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { isAbsolute, join, relative, resolve } from 'node:path';
import { tryOrUndefined } from '../../base/index.ts';
import { type DataPaths, dataPathsFrom } from '../../setup/index.ts';
import type { Environment } from '../../llm/index.ts';

/** The directories that a program that hosts pi or xcsh has configured. */
export interface HostDirectories {
  readonly dataPaths: DataPaths;
  /** Where it looks for the sessions of a working directory; undefined if it names no directory. */
  readonly sessions?: string;
}

/** Reads the variables with which hosts of pi or xcsh separate their agents: our files are separated in the same way. */
export function hostDirectories(env: Environment, cwd: string): HostDirectories {
  const agent = agentDirectory(env);
  const named = given(env, 'PI_CODING_AGENT_SESSION_DIR');
  const sessions = named ?? (agent && join(agent.path, 'sessions', directoryName(agent, cwd, homeIn(env))));
  return {
    dataPaths:
      agent === undefined
        ? dataPathsFrom(env)
        : dataPathsFrom(env, { dataDirectory: join(agent.path, 'polypod') }),
    ...(sessions === undefined ? {} : { sessions: resolve(cwd, sessions) }),
  };
}

interface AgentDirectory {
  readonly path: string;
  /** Whether only xcsh reads the variable that named it. */
  readonly isXcsh: boolean;
}

/** Both read `PI_CODING_AGENT_DIR`; xcsh also reads `PI_CONFIG_DIR`, the name of its directory in the home directory. */
function agentDirectory(env: Environment): AgentDirectory | undefined {
  const shared = given(env, 'PI_CODING_AGENT_DIR');
  if (shared !== undefined) return { path: shared, isXcsh: false };
  const own = given(env, 'XCSH_CODING_AGENT_DIR');
  if (own !== undefined) return { path: own, isXcsh: true };
  const { PI_CONFIG_DIR: config = '' } = env;
  return config === '' ? undefined : { path: join(homeIn(env), config, 'agent'), isXcsh: true };
}

/** The name of the directory for a working directory. xcsh renames directories that have pi's names when it finds them. */
function directoryName({ path, isXcsh }: AgentDirectory, cwd: string, home: string): string {
  const [pi, xcsh] = [piDirectoryName(cwd), xcshDirectoryName(cwd, { home, temporary: tmpdir() })];
  const isThere = (name: string): boolean => existsSync(join(path, 'sessions', name));
  return isXcsh || (isThere(xcsh) && !isThere(pi)) ? xcsh : pi;
}

export function piDirectoryName(cwd: string): string {
  return `--${dashed(cwd.replace(/^\//, ''))}--`;
}

export function xcshDirectoryName(
  cwd: string,
  { home, temporary }: { readonly home: string; readonly temporary: string },
): string {
  const real = realPath(cwd);
  const [inHome, inTemporary] = [home, temporary].map((root) => relative(realPath(root), real));
  if (isInside(inHome)) return `-${dashed(inHome)}`;
  if (isInside(inTemporary)) return inTemporary === '' ? '-tmp' : `-tmp-${dashed(inTemporary)}`;
  return piDirectoryName(real);
}

function isInside(path: string | undefined): path is string {
  return path !== undefined && !path.startsWith('..') && !isAbsolute(path);
}

function dashed(path: string): string {
  return path.replaceAll(/[/\\:]/g, '-');
}

function realPath(path: string): string {
  return tryOrUndefined(() => realpathSync(path)) ?? resolve(path);
}

/** Ignores empty variables and expands a leading tilde to the home directory, as those programs do. */
function given(env: Environment, name: string): string | undefined {
  const value = env[name];
  return value === undefined || value === '' ? undefined : value.replace(/^~(?=\/|$)/, homeIn(env));
}

function homeIn(env: Environment): string {
  return dataPathsFrom(env).home;
}
