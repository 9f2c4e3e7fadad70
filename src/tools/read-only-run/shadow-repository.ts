import { constants } from 'node:fs';
import { copyFile, lstat, mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { systemCodeOf } from '../../base/index.ts';
import type { Repository } from '../policy/index.ts';

/** The variables that point git to a shadow repository. */
export interface ShadowRepository {
  readonly env: Readonly<Record<string, string>>;
}

/**
 * Creates a git directory that shows the same history, index and working tree as a repository but has none of
 * its configuration, hooks and attributes. Git cannot run a program that the repository names with it, not even
 * by settings that we do not know. `directory` is created; the caller removes it.
 */
export async function makeShadow(
  repository: Repository,
  config: string,
  directory: string,
): Promise<ShadowRepository> {
  const { top, gitDirectory, commonDirectory } = repository;
  const common = join(directory, 'git');
  await mkdir(common, { recursive: true, mode: 0o700 });
  await writeFile(join(common, 'config'), config);
  await copy(commonDirectory, common, ['HEAD', 'shallow', ...STATE_FILES]);
  await mkdir(join(common, 'info'));
  await copy(commonDirectory, common, ['info/exclude']);
  await link(commonDirectory, common, ['refs', 'packed-refs', 'logs', ...STATE_DIRECTORIES]);
  await mkdir(join(common, 'objects'));
  await copyWorktrees(commonDirectory, common);
  const worktree = repository.isLinkedWorktree ? await makeWorktree(repository, common) : common;
  return {
    env: {
      GIT_DIR: worktree,
      GIT_WORK_TREE: top,
      GIT_INDEX_FILE: join(gitDirectory, 'index'),
      GIT_OBJECT_DIRECTORY: join(commonDirectory, 'objects'),
    },
  };
}

/** What `git status` reports about a merge or rebase in progress, and names such as ORIG_HEAD. */
const STATE_FILES =
  'ORIG_HEAD FETCH_HEAD MERGE_HEAD MERGE_MODE MERGE_MSG CHERRY_PICK_HEAD REVERT_HEAD AUTO_MERGE BISECT_LOG BISECT_START'.split(
    ' ',
  );
const STATE_DIRECTORIES = ['rebase-merge', 'rebase-apply', 'sequencer'];

/** Which branches are checked out in other worktrees: `git branch` marks them. */
async function copyWorktrees(from: string, to: string): Promise<void> {
  for (const name of await listNames(join(from, 'worktrees'))) {
    const worktree = `worktrees/${name}`;
    await mkdir(join(to, worktree), { recursive: true });
    await copy(from, to, [`${worktree}/HEAD`, `${worktree}/gitdir`, `${worktree}/locked`]);
    await writeFile(join(to, worktree, 'commondir'), '../..\n');
  }
}

async function makeWorktree({ gitDirectory }: Repository, common: string): Promise<string> {
  const worktree = join(common, 'worktrees', basename(gitDirectory));
  await copy(gitDirectory, worktree, STATE_FILES);
  await link(gitDirectory, worktree, ['refs', 'logs', ...STATE_DIRECTORIES]);
  return worktree;
}

/** Copies existing regular files. */
async function copy(from: string, to: string, names: readonly string[]): Promise<void> {
  for (const name of names)
    if ((await entryKind(join(from, name))) === 'file')
      await copyFile(join(from, name), join(to, name), constants.COPYFILE_EXCL);
}

/** Links existing entries that are not links. */
async function link(from: string, to: string, names: readonly string[]): Promise<void> {
  for (const name of names)
    if ((await entryKind(join(from, name))) !== 'other') await symlink(join(from, name), join(to, name));
}

async function entryKind(path: string): Promise<'file' | 'directory' | 'other'> {
  try {
    const stats = await lstat(path);
    return stats.isFile() ? 'file' : stats.isDirectory() ? 'directory' : 'other';
  } catch (thrown) {
    if (systemCodeOf(thrown) === 'ENOENT') return 'other';
    throw thrown;
  }
}

async function listNames(directory: string): Promise<readonly string[]> {
  try {
    return await readdir(directory);
  } catch (thrown) {
    if (systemCodeOf(thrown) === 'ENOENT') return [];
    throw thrown;
  }
}
