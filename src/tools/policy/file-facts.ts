import { lstat, readdir, readFile, stat } from 'node:fs/promises';
import { messageOf, systemCodeOf } from '../../base/index.ts';
import { findProgram, type Program } from './shell/program.ts';
import { type RealPath, realPath } from './real-path.ts';
import { discoverRepository, type Discovery } from './git/repository.ts';

/** What has to be known of the file system before a call can be judged. */
export interface FileFacts {
  readonly realPath: RealPath;
  /** What is in a directory: nothing if it is none; undefined when it cannot be told. */
  readonly list: (directory: string) => Promise<readonly Entry[] | undefined>;
  /** A file of moderate size; undefined when there is none. */
  readonly read: (file: string) => Promise<Content | undefined>;
  /** How many names a file has; 0 when there is none. */
  readonly hardLinks: (file: string) => Promise<number>;
  /** The program that commands run under a name; undefined when there is none. */
  readonly program: (name: string) => Promise<Program | undefined>;
  /** The repository that git finds from a directory. */
  readonly repository: (git: string, directory: string) => Promise<Discovery>;
}

export type Content = { readonly bytes: Buffer } | { readonly problem: string };

export interface Entry {
  readonly name: string;
  readonly is: 'directory' | 'link' | 'file';
}

/** This machine, as commands with this environment see it. */
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

/** This machine, with the programs of the system alone. */
export const fileFacts: FileFacts = fileFactsFor({ PATH: '/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin' });

async function list(directory: string): Promise<readonly Entry[] | undefined> {
  try {
    const entries = await readdir(directory, { withFileTypes: true });
    // A name that is no text cannot be looked up again.
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
    // A pipe would keep us waiting.
    if (!stats.isFile() || stats.size > MOST_BYTES) return { problem: `${file} cannot be read` };
    return { bytes: await readFile(file) };
  } catch (thrown) {
    return isMissing(thrown) ? undefined : { problem: messageOf(thrown) };
  }
}

/** The index of a repository with a hundred thousand files. */
const MOST_BYTES = 50_000_000;

function isMissing(thrown: unknown): boolean {
  return ['ENOENT', 'ENOTDIR'].includes(systemCodeOf(thrown) ?? '');
}
