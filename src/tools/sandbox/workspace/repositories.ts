import { existsSync, mkdirSync, realpathSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { Mount } from '../mount.ts';
import { regularFileText } from './regular-file.ts';
import type { WorkspaceEntry } from './scan.ts';

/** How much of the repository of the current directory a command may change. */
export type GitAccess =
  /** Nothing. */
  | 'none'
  /** What recording work changes; not configuration, hooks and attributes. */
  | 'recording'
  /** Everything. */
  | 'all';

/** The directories that a `.git` file refers to, verified to belong to it; they may be outside the workspace. */
export interface LinkedRepository {
  /** The directory of this worktree or submodule. */
  readonly worktree: string;
  /** The directory with objects and configuration; the same for a submodule. */
  readonly base: string;
}

/**
 * Resolves a `.git` file. It is only trusted if the other side refers to this worktree too: otherwise a file
 * with the right name would expose any directory to commands.
 */
export function linkedRepository(file: string): LinkedRepository | undefined {
  const named = /^gitdir: (.+?)\n*$/.exec(regularFileText(file) ?? '')?.[1];
  if (named === undefined) return undefined;
  try {
    const own = realpathSync(resolve(dirname(file), named));
    const backReference = regularFileText(join(own, 'gitdir'))?.trim();
    if (backReference !== undefined) {
      const common = regularFileText(join(own, 'commondir'))?.trim();
      if (common === undefined || realpathSync(resolve(own, backReference)) !== realpathSync(file))
        return undefined;
      const base = realpathSync(resolve(own, common));
      return isRepository(base) && dirname(dirname(own)) === base ? { worktree: own, base } : undefined;
    }
    const worktree = /^\s*worktree\s*=\s*(.+?)\s*$/m.exec(regularFileText(join(own, 'config')) ?? '')?.[1];
    const isOurs =
      worktree !== undefined && realpathSync(resolve(own, worktree)) === realpathSync(dirname(file));
    return isOurs && own.includes('/.git/modules/') && isRepository(own)
      ? { worktree: own, base: own }
      : undefined;
  } catch {
    return undefined;
  }
}

function isRepository(directory: string): boolean {
  return ['HEAD', 'objects', 'refs', 'config'].every((name) => existsSync(join(directory, name)));
}

/** Returns the mounts for one repository directory. */
export function repositoryMounts(directory: string, access: GitAccess): readonly Mount[] {
  if (access === 'all') return [{ type: 'writable', target: directory }];
  if (access === 'none') return [{ type: 'read-only', target: directory }];
  // Git has created both; if they were removed, a command could create them.
  for (const name of ['hooks', 'info']) mkdirSync(join(directory, name), { recursive: true });
  return [
    { type: 'writable', target: directory },
    ...settingsPaths(directory)
      .filter((path) => existsSync(path))
      .map((target): Mount => ({ type: 'read-only', target })),
  ];
}

const SETTINGS = [
  'config',
  'config.worktree',
  'commondir',
  'gitdir',
  'hooks',
  'info',
  'modules',
  'worktrees',
  'objects/info/alternates',
];

/** The files of a repository that decide which programs git runs, whether they exist or not. */
export function settingsPaths(directory: string): readonly string[] {
  return SETTINGS.map((name) => join(directory, name));
}

/**
 * Settings that a command could create where they are missing, to be checked when it has ended. The todo list
 * of a rebase may name programs, which git runs when the rebase continues.
 */
export function absentSettings(directory: string, mayRebase: boolean): readonly string[] {
  const otherNames = ['gitweb', ...(mayRebase ? [] : ['rebase-merge', 'rebase-apply'])];
  return [...settingsPaths(directory), ...otherNames.map((name) => join(directory, name))].filter(
    (path) => !existsSync(path),
  );
}

/** Returns the `.git` of the directory in which a command starts, or of the nearest parent. */
export function nearestRepository(
  cwd: string,
  found: ReadonlyMap<string, WorkspaceEntry>,
): WorkspaceEntry | undefined {
  for (let current = cwd; ; current = dirname(current)) {
    const notable = found.get(join(current, '.git'));
    if (notable !== undefined) return notable;
    if (current === dirname(current)) return undefined;
  }
}
