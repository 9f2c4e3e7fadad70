import * as fs from 'node:fs';
import { PolypodError, systemCodeOf } from '../base/index.ts';

/** Identifies a file and detects changes to it. */
export interface FileState {
  readonly inode: number;
  readonly size: number;
  readonly modifiedMs: number;
}

/**
 * An open file. Operations on the page cache are synchronous, since they take microseconds; operations that wait for the
 * disk return a promise, since they take milliseconds and would block every other pod of the process.
 */
export interface OpenFile {
  state(): FileState;
  /** Returns the number of bytes read, which is less than the size of the target only at the end of the file. */
  read(target: Uint8Array, position: number): Promise<number>;
  /** Writes at the current end of the file. Returns the number of bytes written, which may be fewer. */
  append(bytes: Uint8Array): number;
  /** Writes in place; only for a file opened with `openToUpdate`. */
  overwrite(bytes: Uint8Array, position: number): number;
  truncate(size: number): void;
  /** Resolves when content and size are on the disk. */
  sync(): Promise<void>;
  /** Closing twice does nothing. */
  close(): void;
}

/** The file system operations of the store, passed as an argument so that tests can inject failures. */
export interface Files {
  openToRead(path: string): OpenFile;
  openToAppend(path: string): OpenFile;
  openToUpdate(path: string): OpenFile;
  /** Creates a file that only its owner can read; truncates an existing one. */
  create(path: string): OpenFile;
  /** Returns undefined if the file does not exist. */
  stat(path: string): FileState | undefined;
  readText(path: string): string;
  rename(from: string, to: string): void;
  /** Creates a hard link; fails with EEXIST if the name is taken. Locks rely on this. */
  link(from: string, to: string): void;
  unlink(path: string): void;
  /** Creates a directory that only its owner can access; the parent must exist. Does nothing if the directory exists. */
  makeDirectory(path: string): void;
  removeDirectory(path: string): void;
  list(path: string): readonly string[];
  /** Resolves when the directory entries are on the disk: without it, a new file may be lost in a power cut. */
  syncDirectory(path: string): Promise<void>;
}

const { O_APPEND, O_CREAT, O_NONBLOCK, O_RDONLY, O_RDWR, O_TRUNC } = fs.constants;

/** The file system of this machine. */
export const realFiles: Files = {
  openToRead: (path) => openFile(openRegular(path, O_RDONLY)),
  openToAppend: (path) => openFile(openRegular(path, O_RDWR | O_APPEND)),
  openToUpdate: (path) => openFile(openRegular(path, O_RDWR)),
  create: (path) => openFile(openRegular(path, O_RDWR | O_CREAT | O_TRUNC)),
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
    // Not `recursive`, which fails if another process removes the directory between its two checks.
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
      await promisified((done) => fs.fsync(directory, done));
    } finally {
      fs.closeSync(directory);
    }
  },
};

/**
 * Rejects pipes and devices, because a path may come from a client: opening a pipe waits for its other end, and reading a
 * device may never end. Either would block the process.
 */
function openRegular(path: string, flags: number): number {
  const descriptor = fs.openSync(path, flags | O_NONBLOCK, 0o600);
  const stats = fs.fstatSync(descriptor);
  // Reading a directory fails with the system's own error.
  if (stats.isFile() || stats.isDirectory()) return descriptor;
  fs.closeSync(descriptor);
  throw new PolypodError('bad-request', `${path} is not a regular file: choose another path`);
}

function openFile(descriptor: number): OpenFile {
  let isOpen = true;
  return {
    state: () => stateOf(fs.fstatSync(descriptor)),
    read: (target, position) => readFully(descriptor, target, position),
    append: (bytes) => fs.writeSync(descriptor, bytes),
    overwrite: (bytes, position) => fs.writeSync(descriptor, bytes, 0, bytes.length, position),
    truncate: (size) => fs.ftruncateSync(descriptor, size),
    sync: () => promisified((done) => fs.fdatasync(descriptor, done)),
    close: () => {
      // After the first close, the descriptor may belong to another file.
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

function promisified(start: (done: (error: Error | null) => void) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    start((error) => (error === null ? resolve() : reject(error)));
  });
}

function stateOf({ ino, size, mtimeMs }: fs.Stats): FileState {
  return { inode: ino, size, modifiedMs: mtimeMs };
}
