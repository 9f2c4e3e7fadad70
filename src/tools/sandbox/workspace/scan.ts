import { chmodSync, type Dirent, lstatSync, readdirSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { PolypodError, systemCodeOf } from '../../../base/index.ts';
import { isStartupFile } from '../../policy/startup-files.ts';
import { isSecret, normalizePath } from '../../policy/secret-files.ts';

/** An entry of a workspace that decides what other programs run later. */
export interface WorkspaceEntry {
  readonly path: string;
  readonly type: /** A directory named `.git`. */
    | 'repository'
    /** A file named `.git`, which refers to the repository. */
    | 'repository-file'
    /** A directory with the files of a repository, under another name. */
    | 'bare-repository'
    | 'startup-file'
    | 'startup-directory'
    /** A link with one of these names, and its target. */
    | 'link';
  /** Identifies the entry: changes if it is replaced or, for a file, written to. */
  readonly identity: string;
  readonly linkTarget?: string;
  /** The number of hard links of a file. */
  readonly links: number;
}

/** The result of a workspace scan. */
export interface WorkspaceFindings {
  readonly notable: ReadonlyMap<string, WorkspaceEntry>;
  readonly packages: readonly string[];
  readonly sockets: readonly string[];
  /** Files and directories that contain secrets, judged by name. */
  readonly secrets: readonly string[];
  readonly unreadable: readonly string[];
}

interface Directory {
  readonly dev: number;
  readonly ino: number;
  readonly ctimeMs: number;
  /**
   * Whether the directory had been unchanged for a while when it was read; otherwise a change may have been
   * missed.
   */
  readonly isSettled: boolean;
  readonly directories: readonly string[];
  readonly notable: readonly string[];
  readonly isBare: boolean;
  readonly hasPackage: boolean;
  readonly sockets: readonly string[];
  readonly secrets: readonly string[];
}

/**
 * Finds repositories, start-up files, package.json files and sockets below a directory, repeatedly. A directory
 * is only read again if its change time differs, which a program cannot set, so a later scan takes one `lstat`
 * for each directory.
 */
export class WorkspaceScan {
  readonly #root: string;
  #directories = new Map<string, Directory>();

  constructor(root: string) {
    this.#root = root;
  }

  /**
   * Scans except for skipped paths. With `force`, directories without permissions of this user are made
   * readable and read.
   */
  async scan(skipped: ReadonlySet<string>, force = false): Promise<WorkspaceFindings> {
    const notable = new Map<string, WorkspaceEntry>();
    const packages: string[] = [];
    const sockets: string[] = [];
    const secrets: string[] = [];
    const unreadable: string[] = [];
    const directories = new Map<string, Directory>();
    const waiting = [this.#root];
    for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
      const directory = this.#directory(path, force);
      if (directory === undefined) {
        unreadable.push(path);
        continue;
      }
      directories.set(path, directory);
      if (directories.size > MAX_DIRECTORIES) throw tooLarge(this.#root);
      if (directories.size % DIRECTORIES_PER_TURN === 0) await nextTurn();
      for (const name of directory.notable) note(notable, join(path, name));
      if (directory.isBare) noteBare(notable, path);
      if (directory.hasPackage) packages.push(join(path, 'package.json'));
      for (const name of directory.sockets) sockets.push(join(path, name));
      for (const name of directory.secrets) secrets.push(join(path, name));
      for (const name of directory.directories) {
        const below = `${path}/${name}`;
        if (!skipped.has(below)) waiting.push(below);
      }
    }
    this.#directories = directories;
    return { notable, packages, sockets, secrets, unreadable };
  }

  #directory(path: string, force: boolean): Directory | undefined {
    try {
      const stats = lstatSync(path);
      // It may have been replaced by a link since its parent was read.
      if (!stats.isDirectory()) return EMPTY;
      const { dev, ino, ctimeMs } = stats;
      const directories = this.#directories.get(path);
      if (
        directories?.isSettled === true &&
        directories.ctimeMs === ctimeMs &&
        directories.ino === ino &&
        directories.dev === dev
      )
        return directories;
      const isSettled = Date.now() - ctimeMs > SETTLED_AFTER_MS;
      return {
        dev,
        ino,
        ctimeMs,
        isSettled,
        ...directoryContents(path, listEntries(path, force), this.#root),
      };
    } catch (thrown) {
      const code = systemCodeOf(thrown);
      if (code === 'ENOENT' || code === 'ENOTDIR') return EMPTY;
      if (code === 'EACCES' || code === 'EPERM') return undefined;
      throw thrown;
    }
  }
}

function listEntries(path: string, force: boolean): readonly Dirent[] {
  try {
    return readdirSync(path, { withFileTypes: true });
  } catch (thrown) {
    if (!force || systemCodeOf(thrown) !== 'EACCES') throw thrown;
    chmodSync(path, 0o700);
    return readdirSync(path, { withFileTypes: true });
  }
}

const EMPTY: Directory = {
  dev: 0,
  ino: 0,
  ctimeMs: 0,
  isSettled: false,
  directories: [],
  notable: [],
  isBare: false,
  hasPackage: false,
  sockets: [],
  secrets: [],
};

/** Installed packages run through the project's own commands only. Repositories are searched there nevertheless. */
const INSTALLED = /\/(?:node_modules|site-packages|dist-packages)(?:\/|$)/;

function directoryContents(
  path: string,
  entries: readonly Dirent[],
  root: string,
): Omit<Directory, 'dev' | 'ino' | 'ctimeMs' | 'isSettled'> {
  // The workspace itself may be an installed package that is being patched.
  const isInstalled = INSTALLED.test(path.slice(root.length));
  const directories: string[] = [];
  const notable: string[] = [];
  const sockets: string[] = [];
  const secrets: string[] = [];
  const names = new Set<string>();
  for (const entry of entries) {
    const { name } = entry;
    names.add(name);
    const isNotable = isGitName(name) || (!isInstalled && isStartupFile(`${path}/${name}`));
    if (isNotable) notable.push(name);
    else if (entry.isDirectory()) directories.push(name);
    if (entry.isSocket()) sockets.push(name);
    if (!isInstalled && !entry.isSymbolicLink() && isSecret(`${path}/${name}`)) secrets.push(name);
  }
  return {
    directories,
    notable,
    sockets,
    secrets,
    isBare: names.has('HEAD') && (names.has('commondir') || (names.has('objects') && names.has('refs'))),
    hasPackage: names.has('package.json') && !isInstalled,
  };
}

function isGitName(name: string): boolean {
  return name.length < 20 && normalizePath(name) === '.git';
}

function note(found: Map<string, WorkspaceEntry>, path: string): void {
  const stats = lstatSync(path, { bigint: true, throwIfNoEntry: false });
  if (stats === undefined) return;
  const isGit = isGitName(path.slice(path.lastIndexOf('/') + 1));
  const inode = `${stats.dev}:${stats.ino}`;
  const links = Number(stats.nlink);
  if (stats.isSymbolicLink()) {
    found.set(path, { path, type: 'link', identity: inode, linkTarget: readlinkSync(path), links });
  } else if (stats.isDirectory()) {
    found.set(path, { path, type: isGit ? 'repository' : 'startup-directory', identity: inode, links });
  } else {
    const identity = `${inode}:${stats.ctimeNs}:${stats.size}`;
    found.set(path, { path, type: isGit ? 'repository-file' : 'startup-file', identity, links });
  }
}

function noteBare(found: Map<string, WorkspaceEntry>, path: string): void {
  const head = join(path, 'HEAD');
  found.set(head, { path: head, type: 'bare-repository', identity: '', links: 1 });
}

function tooLarge(root: string): PolypodError {
  return new PolypodError(
    'denied',
    `The sandbox cannot watch ${root}: it has more than ${MAX_DIRECTORIES} directories. Work in a subdirectory.`,
  );
}

const MAX_DIRECTORIES = 300_000;
const DIRECTORIES_PER_TURN = 500;
/** The kernel's file clock advances in steps of up to 10 ms. */
const SETTLED_AFTER_MS = 50;
