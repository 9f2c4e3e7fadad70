import { existsSync, mkdirSync, realpathSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { Mount } from '../mount.ts';
import { regularFileText } from './regular-file.ts';
import type { Notable } from './scan.ts';

/** How much of the repository of the current directory a command may change. */
export type GitAccess =
  /** Nothing. */
  | 'none'
  /** What recording work changes; not its configuration, hooks and attributes. */
  | 'recording'
  /** Everything. */
  | 'all';

/** The directories that a `.git` file leads to, if they prove to belong to it; they may be outside of the workspace. */
export interface LinkedRepository {
  /** The directory of this worktree or submodule. */
  readonly own: string;
  /** The directory with the objects and the configuration; the same for a submodule. */
  readonly base: string;
}

/**
 * Where a `.git` file leads. It is only believed when the other side names this worktree too: otherwise a file with the
 * right name would show any directory to commands.
 */
export function linkedRepository(file: string): LinkedRepository | undefined {
  const named = /^gitdir: (.+?)\n*$/.exec(regularFileText(file) ?? '')?.[1];
  if (named === undefined) return undefined;
  try {
    const own = realpathSync(resolve(dirname(file), named));
    const back = regularFileText(join(own, 'gitdir'))?.trim();
    if (back !== undefined) {
      const common = regularFileText(join(own, 'commondir'))?.trim();
      if (common === undefined || realpathSync(resolve(own, back)) !== realpathSync(file)) return undefined;
      const base = realpathSync(resolve(own, common));
      return isRepository(base) && dirname(dirname(own)) === base ? { own, base } : undefined;
    }
    const worktree = /^\s*worktree\s*=\s*(.+?)\s*$/m.exec(regularFileText(join(own, 'config')) ?? '')?.[1];
    const isOurs =
      worktree !== undefined && realpathSync(resolve(own, worktree)) === realpathSync(dirname(file));
    return isOurs && own.includes('/.git/modules/') && isRepository(own) ? { own, base: own } : undefined;
  } catch {
    return undefined;
  }
}

function isRepository(directory: string): boolean {
  return ['HEAD', 'objects', 'refs', 'config'].every((name) => existsSync(join(directory, name)));
}

/** The mounts for one repository directory. */
export function repositoryMounts(directory: string, access: GitAccess): readonly Mount[] {
  if (access === 'all') return [{ type: 'writable', target: directory }];
  if (access === 'none') return [{ type: 'read-only', target: directory }];
  // Git has made both; where somebody removed them, a command could make them anew.
  for (const name of ['hooks', 'info']) mkdirSync(join(directory, name), { recursive: true });
  return [
    { type: 'writable', target: directory },
    ...settingsOf(directory)
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
export function settingsOf(directory: string): readonly string[] {
  return SETTINGS.map((name) => join(directory, name));
}

/**
 * Those of the settings that a command could create where they are missing, to be looked for when it has ended. The list of
 * things to do in a rebase may name programs, which git runs when the rebase is continued.
 */
export function absentSettings(directory: string, mayRebase: boolean): readonly string[] {
  const others = ['gitweb', ...(mayRebase ? [] : ['rebase-merge', 'rebase-apply'])];
  return [...settingsOf(directory), ...others.map((name) => join(directory, name))].filter(
    (path) => !existsSync(path),
  );
}

/** The `.git` of the directory that a command starts in, or of the nearest one above it. */
export function nearestRepository(cwd: string, found: ReadonlyMap<string, Notable>): Notable | undefined {
  for (let at = cwd; ; at = dirname(at)) {
    const notable = found.get(join(at, '.git'));
    if (notable !== undefined) return notable;
    if (at === dirname(at)) return undefined;
  }
}
