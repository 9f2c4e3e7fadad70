import * as fs from 'node:fs';
import { PolypodError, systemCodeOf } from '../base/index.ts';

/** What tells one file from another and a changed one from an unchanged one. */
export interface FileState {
  readonly inode: number;
  readonly size: number;
  readonly modifiedMs: number;
}

/**
 * A file that is open. What only touches the page cache answers at once, in microseconds; what waits for the disk is a
 * promise, since it takes milliseconds and would stall every other pod of the process.
 */
export interface OpenFile {
  state(): FileState;
  /** How many bytes were read; fewer than the target holds only at the end of the file. */
  read(target: Uint8Array, position: number): Promise<number>;
  /** At the end of the file, whatever else was written meanwhile. Answers how many bytes went in: it may be fewer. */
  append(bytes: Uint8Array): number;
  /** In place; only for a file opened by `openToUpdate`. */
  overwrite(bytes: Uint8Array, position: number): number;
  truncate(size: number): void;
  /** Resolves when content and size are on the disk. */
  sync(): Promise<void>;
  /** Closing twice does nothing. */
  close(): void;
}

/** All that the store asks of a file system, passed in by argument so that tests can make it fail. */
export interface Files {
  openToRead(path: string): OpenFile;
  openToAppend(path: string): OpenFile;
  openToUpdate(path: string): OpenFile;
  /** A new file that only its owner may read, emptied if there was one. */
  create(path: string): OpenFile;
  /** Undefined if there is none. */
  stat(path: string): FileState | undefined;
  readText(path: string): string;
  rename(from: string, to: string): void;
  /** A second name for a file; fails with EEXIST if the name is taken, which is what makes a lock. */
  link(from: string, to: string): void;
  unlink(path: string): void;
  /** Only for its owner, in one that exists; nothing happens if there is one already. */
  makeDirectory(path: string): void;
  removeDirectory(path: string): void;
  list(path: string): readonly string[];
  /** Resolves when the names in the directory are on the disk: without it a new file may vanish with the power. */
  syncDirectory(path: string): Promise<void>;
}

const { O_APPEND, O_CREAT, O_NONBLOCK, O_RDONLY, O_RDWR, O_TRUNC } = fs.constants;

/** The files of this machine. */
export const realFiles: Files = {
  openToRead: (path) => opened(openRegular(path, O_RDONLY)),
  openToAppend: (path) => opened(openRegular(path, O_RDWR | O_APPEND)),
  openToUpdate: (path) => opened(openRegular(path, O_RDWR)),
  create: (path) => opened(openRegular(path, O_RDWR | O_CREAT | O_TRUNC)),
  stat: (path) => {
    const stats = fs.statSync(path, { throwIfNoEntry: false });
    return stats === undefined ? undefined : stateOf(stats);
  },
  readText: (path) => {
    const descriptor = openRegular(path, O_RDONLY);
    try {
      return fs.readFileSync(descriptor, 'utf8');
    } finally {
      fs.closeSync(descriptor);
    }
  },
  rename: (from, to) => fs.renameSync(from, to),
  link: (from, to) => fs.linkSync(from, to),
  unlink: (path) => fs.unlinkSync(path),
  makeDirectory: (path) => {
    // Not with `recursive`: that one fails when another process removes the directory between its two looks at it.
    try {
      fs.mkdirSync(path, 0o700);
    } catch (error) {
      if (systemCodeOf(error) !== 'EEXIST') throw error;
    }
  },
  removeDirectory: (path) => fs.rmdirSync(path),
  list: (path) => fs.readdirSync(path),
  syncDirectory: async (path) => {
    const directory = fs.openSync(path, O_RDONLY);
    try {
      await settled((done) => fs.fsync(directory, done));
    } finally {
      fs.closeSync(directory);
    }
  },
};

/**
 * A path may come from a client. To open a pipe waits for its other end, and a device may never end: either would stop the
 * whole process.
 */
function openRegular(path: string, flags: number): number {
  const descriptor = fs.openSync(path, flags | O_NONBLOCK, 0o600);
  const stats = fs.fstatSync(descriptor);
  // Whoever reads a directory gets the system's error.
  if (stats.isFile() || stats.isDirectory()) return descriptor;
  fs.closeSync(descriptor);
  throw new PolypodError('bad-request', `${path} is no regular file: choose another path`);
}

function opened(descriptor: number): OpenFile {
  let isOpen = true;
  return {
    state: () => stateOf(fs.fstatSync(descriptor)),
    read: (target, position) => readFully(descriptor, target, position),
    append: (bytes) => fs.writeSync(descriptor, bytes),
    overwrite: (bytes, position) => fs.writeSync(descriptor, bytes, 0, bytes.length, position),
    truncate: (size) => fs.ftruncateSync(descriptor, size),
    sync: () => settled((done) => fs.fdatasync(descriptor, done)),
    close: () => {
      // By then the number may be that of somebody else's file.
      if (isOpen) fs.closeSync(descriptor);
      isOpen = false;
    },
  };
}

async function readFully(descriptor: number, target: Uint8Array, position: number): Promise<number> {
  let filled = 0;
  while (filled < target.length) {
    const count = await readOnce(descriptor, target.subarray(filled), position + filled);
    if (count === 0) break;
    filled += count;
  }
  return filled;
}

function readOnce(descriptor: number, target: Uint8Array, position: number): Promise<number> {
  return new Promise((resolve, reject) => {
    fs.read(descriptor, target, 0, target.length, position, (error, count) =>
      error === null ? resolve(count) : reject(error),
    );
  });
}

function settled(start: (done: (error: Error | null) => void) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    start((error) => (error === null ? resolve() : reject(error)));
  });
}

function stateOf({ ino, size, mtimeMs }: fs.Stats): FileState {
  return { inode: ino, size, modifiedMs: mtimeMs };
}
