import { existsSync, lstatSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { PolypodError, namesIn } from '../../../base/index.ts';
import { isInside } from '../../policy/scope.ts';
import type { Mount } from '../mount.ts';
import {
  absentSettings,
  type GitAccess,
  linkedRepository,
  nearestRepository,
  repositoryMounts,
  settingsPaths,
} from './repositories.ts';
import type { WorkspaceFindings, WorkspaceEntry } from './scan.ts';

export interface WorkspaceProtection {
  readonly mounts: readonly Mount[];
  /** Files that a command could create to change what git runs. */
  readonly absent: readonly string[];
}

export interface ProtectionOptions {
  readonly roots: readonly string[];
  readonly cwd: string;
  /** What the command may change of its repository. */
  readonly access: GitAccess;
  /** Whether the command may leave an unfinished rebase behind. */
  readonly mayRebase: boolean;
  /** False if nothing in the workspace needs protection: it is read-only, or the command is trusted. */
  readonly isProtected: boolean;
}

/** Makes read-only what other programs would run later. Throws `denied` for what no mount can protect. */
export function workspaceProtection(
  found: readonly WorkspaceFindings[],
  options: ProtectionOptions,
): WorkspaceProtection {
  const notable = new Map(found.flatMap((one) => [...one.notable]));
  const { roots, cwd, access, isProtected } = options;
  const current = nearestRepository(cwd, notable);
  const mounts: Mount[] = [];
  const absent: string[] = [];
  const anchored: string[] = [];
  for (const one of notable.values()) {
    const granted = one === current || access === 'all' ? access : 'none';
    if (isProtected) refuseUnprotectable(one);
    const protection = protectNotable(one, granted, options);
    mounts.push(...protection.mounts);
    absent.push(...protection.absent);
    if (one.type !== 'startup-file' && one.type !== 'startup-directory') anchored.push(one.path);
  }
  if (!isProtected) return { mounts: mounts.filter(({ target }) => !isInsideAny(roots, target)), absent: [] };
  const limited = mounts.length > MAX_MOUNTS ? coarsenMounts(mounts, roots) : mounts;
  return { mounts: [...ancestorMounts(anchored, limited, roots), ...limited], absent };
}

/**
 * Returns each directory between the workspace and a protected path, mounted on itself: a mount point cannot be
 * renamed, so the directory cannot be moved aside and replaced. Directories inside a read-only mount need none.
 */
export function ancestorMounts(
  paths: readonly string[],
  mounts: readonly Mount[],
  roots: readonly string[],
): readonly Mount[] {
  const targets = new Set<string>();
  for (const path of paths) {
    const root = roots.find((one) => isInside(one, path));
    if (root === undefined) continue;
    for (let current = dirname(path); current !== root && isInside(root, current); current = dirname(current))
      targets.add(current);
  }
  const closed = mounts
    .filter(({ type, target }) => type !== 'writable' && roots.some((root) => isInside(root, target)))
    .map(({ target }) => target);
  return [...targets]
    .filter((target) => !closed.some((path) => isInside(path, target)))
    .map((target) => ({ type: 'writable', target }));
}

function protectNotable(
  one: WorkspaceEntry,
  access: GitAccess,
  { roots, mayRebase }: ProtectionOptions,
): WorkspaceProtection {
  const { path, type } = one;
  switch (type) {
    case 'repository':
      return {
        mounts: repositoryMounts(path, access),
        absent: access === 'recording' ? absentSettings(path, mayRebase) : [],
      };
    case 'repository-file':
      return protectLinked(path, access, mayRebase);
    case 'bare-repository': {
      const directory = dirname(path);
      if (!roots.includes(directory))
        return { mounts: [{ type: 'read-only', target: directory }], absent: [] };
      const settings = [path, ...settingsPaths(directory)].filter((file) => existsSync(file));
      return {
        mounts: settings.map((target): Mount => ({ type: 'read-only', target })),
        absent: absentSettings(directory, false),
      };
    }
    case 'startup-file':
    case 'startup-directory':
      return { mounts: [{ type: 'read-only', target: path }], absent: [] };
    default:
      // A link cannot be a mount point. It is compared after the command has ended.
      return { mounts: [], absent: [] };
  }
}

/** A worktree or a submodule: its repository is elsewhere, often outside the workspace. */
function protectLinked(file: string, access: GitAccess, mayRebase: boolean): WorkspaceProtection {
  const fileMount: Mount = { type: 'read-only', target: file };
  const repository = linkedRepository(file);
  if (repository === undefined) return { mounts: [fileMount], absent: [] };
  const directories = [...new Set([repository.base, repository.worktree])];
  return {
    mounts: [fileMount, ...directories.flatMap((directory) => repositoryMounts(directory, access))],
    absent:
      access === 'recording' ? directories.flatMap((directory) => absentSettings(directory, mayRebase)) : [],
  };
}

function refuseUnprotectable({ path, type }: WorkspaceEntry): void {
  if (type === 'link' && path.endsWith('/.git'))
    throw new PolypodError(
      'denied',
      `The sandbox cannot protect ${path}, because it is a symbolic link. Replace it: rm ${path} && git init --separate-git-dir=DIRECTORY.`,
    );
  if (type !== 'repository') return;
  const files = [
    join(path, 'config'),
    ...namesIn(join(path, 'hooks')).map((name) => join(path, 'hooks', name)),
  ];
  const shared = files.find((file) => {
    const stats = lstatSync(file, { throwIfNoEntry: false });
    return stats?.isFile() === true && stats.nlink > 1;
  });
  if (shared !== undefined)
    throw new PolypodError(
      'denied',
      `The sandbox cannot protect ${shared}, because the file has a second name (a hard link). Make it a separate file: cp ${shared} ${shared}.new && mv ${shared}.new ${shared}.`,
    );
}

/** So many mounts would take seconds: their top-level directories become read-only as a whole. */
function coarsenMounts(mounts: readonly Mount[], roots: readonly string[]): readonly Mount[] {
  const tops = mounts.map((mount): Mount => {
    const root = roots.find((one) => isInside(one, mount.target));
    if (root === undefined) return mount;
    const [first = ''] = mount.target.slice(root.length + 1).split('/');
    return { type: 'read-only', target: join(root, first) };
  });
  return [...new Map(tops.map((mount) => [mount.target, mount])).values()];
}

const MAX_MOUNTS = 400;

function isInsideAny(roots: readonly string[], path: string): boolean {
  return roots.some((root) => isInside(root, path));
}
