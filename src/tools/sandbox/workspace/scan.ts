import { chmodSync, type Dirent, lstatSync, readdirSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { PolypodError, systemCodeOf } from '../../../base/index.ts';
import { isStartupFile } from '../../policy/startup-files.ts';
import { isSecret, plainPath } from '../../policy/secret-files.ts';

/** Something in a workspace that decides what other programs run later. */
export interface Notable {
  readonly path: string;
  readonly type: /** A directory called `.git`. */
    | 'repository'
    /** A file called `.git`, which names the repository. */
    | 'repository-file'
    /** A directory with the files of a repository in it, under another name. */
    | 'bare-repository'
    | 'startup-file'
    | 'startup-directory'
    /** A link with one of these names; where it leads. */
    | 'link';
  /** Tells whether it is still the same: changes when it is replaced or, for a file, written to. */
  readonly identity: string;
  readonly linkTarget?: string;
  /** The number of names that a file has. */
  readonly links: number;
}

/** What a scan of a workspace found. */
export interface Found {
  readonly notable: ReadonlyMap<string, Notable>;
  readonly packages: readonly string[];
  readonly sockets: readonly string[];
  /** Files and directories that hold secrets by their names. */
  readonly secrets: readonly string[];
  readonly unreadable: readonly string[];
}

interface Directory {
  readonly dev: number;
  readonly ino: number;
  readonly ctimeMs: number;
  /** Whether the directory had been unchanged for a while when it was read: else a change may have been missed. */
  readonly isSettled: boolean;
  readonly directories: readonly string[];
  readonly notable: readonly string[];
  readonly isBare: boolean;
  readonly hasPackage: boolean;
  readonly sockets: readonly string[];
  readonly secrets: readonly string[];
}

/**
 * Finds repositories, start-up files, package.json files and sockets below a directory, again and again. A directory is
 * only read again when its change time differs, which a program cannot set, so that a later scan takes one `lstat` for
 * each directory.
 */
export class WorkspaceScan {
  readonly #root: string;
  #known = new Map<string, Directory>();

  constructor(root: string) {
    this.#root = root;
  }

  /** Leaves out what is skipped. With `force`, directories that this user has closed to itself are opened and read. */
  async look(skipped: ReadonlySet<string>, force = false): Promise<Found> {
    const notable = new Map<string, Notable>();
    const packages: string[] = [];
    const sockets: string[] = [];
    const secrets: string[] = [];
    const unreadable: string[] = [];
    const known = new Map<string, Directory>();
    const waiting = [this.#root];
    for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
      const directory = this.#directory(path, force);
      if (directory === undefined) {
        unreadable.push(path);
        continue;
      }
      known.set(path, directory);
      if (known.size > MOST_DIRECTORIES) throw tooLarge(this.#root);
      if (known.size % DIRECTORIES_PER_TURN === 0) await nextTurn();
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
    this.#known = known;
    return { notable, packages, sockets, secrets, unreadable };
  }

  #directory(path: string, force: boolean): Directory | undefined {
    try {
      const stats = lstatSync(path);
      // It may have been replaced by a link since its parent was read.
      if (!stats.isDirectory()) return EMPTY;
      const { dev, ino, ctimeMs } = stats;
      const known = this.#known.get(path);
      if (known?.isSettled === true && known.ctimeMs === ctimeMs && known.ino === ino && known.dev === dev)
        return known;
      const isSettled = Date.now() - ctimeMs > SETTLED_AFTER_MS;
      return { dev, ino, ctimeMs, isSettled, ...contentsOf(path, entriesOf(path, force), this.#root) };
    } catch (thrown) {
      const code = systemCodeOf(thrown);
      if (code === 'ENOENT' || code === 'ENOTDIR') return EMPTY;
      if (code === 'EACCES' || code === 'EPERM') return undefined;
      throw thrown;
    }
  }
}

function entriesOf(path: string, force: boolean): readonly Dirent[] {
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

/** What is installed there runs through the project's own commands only. Repositories are looked for all the same. */
const INSTALLED = /\/(?:node_modules|site-packages|dist-packages)(?:\/|$)/;

function contentsOf(
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
  return name.length < 20 && plainPath(name) === '.git';
}

function note(found: Map<string, Notable>, path: string): void {
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

function noteBare(found: Map<string, Notable>, path: string): void {
  const head = join(path, 'HEAD');
  found.set(head, { path: head, type: 'bare-repository', identity: '', links: 1 });
}

function tooLarge(root: string): PolypodError {
  return new PolypodError(
    'denied',
    `The sandbox cannot watch ${root}: it has more than ${MOST_DIRECTORIES} directories. Work in a directory further down.`,
  );
}

const MOST_DIRECTORIES = 300_000;
const DIRECTORIES_PER_TURN = 500;
/** The kernel's clock for files moves in steps of up to 10 ms. */
const SETTLED_AFTER_MS = 50;
