import { execFile } from 'node:child_process';
import type { Dirent, Stats } from 'node:fs';
import { lstat, readdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { explainStartFailure, systemCodeOf } from '../../../base/index.ts';
import { trackedNames } from './git-index.ts';

/** A git repository as git finds it from a directory. All paths are absolute and without links. */
export interface Repository {
  /** The top of the working tree. */
  readonly top: string;
  readonly gitDirectory: string;
  /** The directory of objects and branches; for a linked worktree it is in the main repository. */
  readonly commonDirectory: string;
  /**
   * Whether the main repository lists this directory as one of its worktrees. Its git directories then belong
   * to the working tree, wherever they are: nobody with write access to the working tree alone can have
   * arranged that.
   */
  readonly isLinkedWorktree: boolean;
  /** The files in the index, relative to the top. */
  readonly tracked: readonly string[];
}

/** `none`: git reports that there is no repository. */
export type Discovery = Repository | { readonly doubt: string } | 'none';

/**
 * Makes git find the repository of a directory, and checks that all of its parts are inside it. Git's discovery
 * has too many rules to reimplement. This call runs nothing that the repository configures; user and system
 * configuration are excluded, so a repository of another owner is an error.
 */
export async function discoverRepository(git: string, directory: string): Promise<Discovery> {
  // Nothing can run in a directory that does not exist.
  const stats = await fileStats(directory).catch(() => undefined);
  if (stats?.isDirectory() !== true) return 'none';
  const found = await revParse(git, directory);
  if ('failed' in found) return found.failed === 'none' ? 'none' : { doubt: found.failed };
  const [gitDirectory, common, top, format] = found.lines;
  if (gitDirectory === undefined || common === undefined || top === undefined || found.lines.length !== 4)
    return { doubt: 'the output of git is not understood' };
  if (format !== 'sha1') return { doubt: `the repository uses the object format ${format ?? ''}` };
  const commonDirectory = common.startsWith('/') ? common : join(directory, common);
  try {
    return await checkRepository({ top, gitDirectory, commonDirectory });
  } catch (thrown) {
    if (thrown instanceof RepositoryDoubt) return { doubt: thrown.message };
    return {
      doubt: `the repository of ${directory} cannot be examined (${systemCodeOf(thrown) ?? 'unknown error'})`,
    };
  }
}

/** For every git that runs without approval, including discovery. */
export const fixedGitEnvironment: Readonly<Record<string, string>> = {
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_ATTR_NOSYSTEM: '1',
  GIT_OPTIONAL_LOCKS: '0',
  GIT_ALLOW_PROTOCOL: '',
  GIT_NO_LAZY_FETCH: '1',
  GIT_NO_REPLACE_OBJECTS: '1',
  GIT_TERMINAL_PROMPT: '0',
  GIT_PAGER: 'cat',
  GIT_EDITOR: 'false',
  GIT_SSH_COMMAND: 'false',
  GIT_ASKPASS: 'false',
  ...settings({
    'safe.bareRepository': 'explicit',
    'core.fsmonitor': 'false',
    'core.hooksPath': '/dev/null',
    'diff.autoRefreshIndex': 'false',
    'log.showSignature': 'false',
    'gpg.program': 'false',
    'gpg.openpgp.program': 'false',
    'gpg.ssh.program': 'false',
    'gpg.x509.program': 'false',
  }),
};

function settings(values: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const entries = Object.entries(values);
  return Object.fromEntries([
    ['GIT_CONFIG_COUNT', String(entries.length)],
    ...entries.flatMap(([key, value], index) => [
      [`GIT_CONFIG_KEY_${index}`, key],
      [`GIT_CONFIG_VALUE_${index}`, value],
    ]),
  ]);
}

type RevParse = { readonly lines: readonly string[] } | { readonly failed: string };

function revParse(git: string, cwd: string): Promise<RevParse> {
  const args = [
    'rev-parse',
    '--absolute-git-dir',
    '--git-common-dir',
    '--show-toplevel',
    '--show-object-format',
  ];
  const env = { ...fixedGitEnvironment, PATH: '/usr/bin:/bin', HOME: '/nonexistent', LC_ALL: 'C' };
  return new Promise((settle) => {
    execFile(
      git,
      args,
      { cwd, env, timeout: DISCOVERY_MS, killSignal: 'SIGKILL' },
      (error, stdout, stderr) => {
        if (error === null) return settle({ lines: stdout.split('\n').slice(0, -1) });
        const [first = ''] = stderr.split('\n');
        // A number is the exit code of git.
        const line =
          typeof error.code === 'string'
            ? explainStartFailure({ program: git, cwd, env }, error).problem
            : first;
        const isNone = line.startsWith('fatal: not a git repository (or any');
        settle({
          failed: isNone ? 'none' : `git cannot use the repository there (${line || 'it does not answer'})`,
        });
      },
    );
  });
}

const DISCOVERY_MS = 3_000;

class RepositoryDoubt extends Error {}

type Found = Pick<Repository, 'top' | 'gitDirectory' | 'commonDirectory'>;

async function checkRepository(found: Found): Promise<Repository> {
  const { top, gitDirectory, commonDirectory } = found;
  const owner = process.getuid?.();
  for (const directory of new Set([top, gitDirectory, commonDirectory])) {
    const stats = await fileStats(directory);
    if (stats?.isDirectory() !== true) throw new RepositoryDoubt(`${directory} is not a directory`);
    if (owner !== undefined && stats.uid !== owner)
      throw new RepositoryDoubt(`${directory} belongs to another user`);
  }
  const dotGit = await fileStats(join(top, '.git'));
  if (dotGit?.isSymbolicLink() === true) throw new RepositoryDoubt(`${top}/.git is a link`);
  if (dotGit?.isDirectory() === true && gitDirectory !== join(top, '.git'))
    throw new RepositoryDoubt(`${top}/.git is not the repository that git uses`);
  if (dotGit === undefined) throw new RepositoryDoubt(`${top} is the working tree of a repository elsewhere`);
  await assertPlain(found);
  const isLinkedWorktree = await isWorktreeOf(found);
  if (gitDirectory !== commonDirectory && !isLinkedWorktree)
    throw new RepositoryDoubt(`${commonDirectory} does not know ${top} as one of its worktrees`);
  return { ...found, isLinkedWorktree, tracked: await trackedFiles(gitDirectory) };
}

/** Every part of a repository must be inside it: a link could expose the objects of another one, or any file. */
async function assertPlain({ gitDirectory, commonDirectory }: Found): Promise<void> {
  for (const file of [
    'HEAD',
    'index',
    'packed-refs',
    'shallow',
    'info',
    'logs',
    'refs',
    'objects',
    'worktrees',
  ])
    for (const directory of new Set([gitDirectory, commonDirectory]))
      if ((await fileStats(join(directory, file)))?.isSymbolicLink() === true)
        throw new RepositoryDoubt(`${directory}/${file} is a link`);
  const absent: readonly (readonly [string, string])[] = [
    ['objects/info/alternates', 'it uses objects of another repository'],
    ['objects/info/http-alternates', 'it uses objects of another repository'],
    ['reftable', 'it stores its references in a reftable'],
    ['info/sparse-checkout', 'its working tree is sparse'],
  ];
  for (const [file, reason] of absent)
    for (const directory of new Set([gitDirectory, commonDirectory]))
      if ((await fileStats(join(directory, file))) !== undefined)
        throw new RepositoryDoubt(`${directory}: ${reason}`);
  const budget = { left: MAX_ENTRIES };
  for (const directory of ['objects', 'refs', 'logs', 'info', 'worktrees'])
    await assertNoLinks(join(commonDirectory, directory), budget);
  for (const directory of ['refs', 'logs', 'rebase-merge', 'rebase-apply', 'sequencer'])
    await assertNoLinks(join(gitDirectory, directory), budget);
}

const MAX_ENTRIES = 100_000;

async function assertNoLinks(directory: string, budget: { left: number }): Promise<void> {
  const waiting = [directory];
  for (let current = waiting.pop(); current !== undefined; current = waiting.pop()) {
    const entries = await listEntries(current);
    budget.left -= entries.length;
    if (budget.left < 0) throw new RepositoryDoubt(`${directory} has too many files to check them for links`);
    for (const entry of entries) {
      const path = join(current, entry.name);
      if (entry.isDirectory()) waiting.push(path);
      else if (!entry.isFile()) throw new RepositoryDoubt(`${path} is a link or a special file`);
    }
  }
}

/** Returns whether the main repository lists this worktree, in a file inside the main repository. */
async function isWorktreeOf({ top, gitDirectory, commonDirectory }: Found): Promise<boolean> {
  if (gitDirectory === commonDirectory) return false;
  if (dirname(gitDirectory) !== join(commonDirectory, 'worktrees')) return false;
  const stated = await readFile(join(gitDirectory, 'gitdir'), 'utf8');
  const pointer = await readFile(join(gitDirectory, 'commondir'), 'utf8');
  return stated === `${top}/.git\n` && pointer === '../..\n';
}

async function trackedFiles(gitDirectory: string): Promise<readonly string[]> {
  const index = join(gitDirectory, 'index');
  const stats = await fileStats(index);
  if (stats === undefined) return [];
  if (!stats.isFile() || stats.size > MAX_INDEX_BYTES) throw new RepositoryDoubt(`${index} cannot be read`);
  const names = trackedNames(await readFile(index), 20);
  if (names === undefined) throw new RepositoryDoubt('its index is split, sparse or damaged');
  return names;
}

/** The size of the index of a repository with a few hundred thousand files. */
const MAX_INDEX_BYTES = 50_000_000;

async function fileStats(path: string): Promise<Stats | undefined> {
  try {
    return await lstat(path);
  } catch (thrown) {
    if (['ENOENT', 'ENOTDIR'].includes(systemCodeOf(thrown) ?? '')) return undefined;
    throw thrown;
  }
}

async function listEntries(directory: string): Promise<readonly Dirent[]> {
  try {
    return await readdir(directory, { withFileTypes: true });
  } catch (thrown) {
    if (['ENOENT', 'ENOTDIR'].includes(systemCodeOf(thrown) ?? '')) return [];
    throw thrown;
  }
}
