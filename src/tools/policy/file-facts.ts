import { lstat, readdir, readFile, stat } from 'node:fs/promises';
import { messageOf, systemCodeOf } from '../../base/index.ts';
import { findProgram, type Program } from './shell/program.ts';
import { type RealPath, realPath } from './real-path.ts';
import { discoverRepository, type Discovery } from './git/repository.ts';

/** What the policy needs to know about the file system. */
export interface FileFacts {
  readonly realPath: RealPath;
  /** Returns the entries of a directory: none if it is not a directory; undefined if that cannot be determined. */
  readonly list: (directory: string) => Promise<readonly DirectoryEntry[] | undefined>;
  /** Reads a file of limited size; undefined if there is none. */
  readonly read: (file: string) => Promise<Content | undefined>;
  /** Returns the number of hard links of a file; 0 if there is none. */
  readonly hardLinks: (file: string) => Promise<number>;
  /** Returns the program that commands run by a name; undefined if there is none. */
  readonly program: (name: string) => Promise<Program | undefined>;
  /** Returns the repository that git finds from a directory. */
  readonly repository: (git: string, directory: string) => Promise<Discovery>;
}

export type Content = { readonly bytes: Buffer } | { readonly problem: string };

export interface DirectoryEntry {
  readonly name: string;
  readonly is: 'directory' | 'link' | 'file';
}

/** Facts about this machine for commands with this environment. */
export function fileFactsFor(env: Readonly<Record<string, string>>): FileFacts {
  const searchPath = env['PATH'] ?? '';
  return {
    realPath,
    list,
    read,
    hardLinks,
    program: (name) => findProgram(name, searchPath, realPath),
    repository: discoverRepository,
  };
}

/** Facts about this machine with only the system's programs. */
export const fileFacts: FileFacts = fileFactsFor({ PATH: '/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin' });

async function list(directory: string): Promise<readonly DirectoryEntry[] | undefined> {
  try {
    const entries = await readdir(directory, { withFileTypes: true });
    // A name that is not valid text cannot be looked up again.
    if (entries.some(({ name }) => name.includes('\uFFFD'))) return undefined;
    return entries.map((entry) => ({
      name: entry.name,
      is: entry.isDirectory() ? 'directory' : entry.isSymbolicLink() ? 'link' : 'file',
    }));
  } catch (thrown) {
    return isMissing(thrown) ? [] : undefined;
  }
}

async function hardLinks(file: string): Promise<number> {
  try {
    const stats = await lstat(file);
    return stats.isFile() ? stats.nlink : 0;
  } catch {
    return 0;
  }
}

async function read(file: string): Promise<Content | undefined> {
  try {
    const stats = await stat(file);
    if (stats.isDirectory()) return undefined;
    // Opening a pipe would block.
    if (!stats.isFile() || stats.size > MAX_BYTES) return { problem: `${file} cannot be read` };
    return { bytes: await readFile(file) };
  } catch (thrown) {
    return isMissing(thrown) ? undefined : { problem: messageOf(thrown) };
  }
}

/** The size of the index of a repository with a hundred thousand files. */
const MAX_BYTES = 50_000_000;

function isMissing(thrown: unknown): boolean {
  return ['ENOENT', 'ENOTDIR'].includes(systemCodeOf(thrown) ?? '');
}
