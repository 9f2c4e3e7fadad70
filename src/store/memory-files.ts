import { dirname, resolve, sep } from 'node:path';
import type { Files, FileState, OpenFile } from './files.ts';

/** A file system in memory, for data that must not reach the disk. It initially contains only the root directory. */
export function memoryFiles(): Files {
  const tree = new Tree();
  return {
    openToRead: (path) => openFile(tree, tree.file(path), 'read'),
    openToAppend: (path) => openFile(tree, tree.file(path), 'write'),
    openToUpdate: (path) => openFile(tree, tree.file(path), 'write'),
    create: (path) => {
      const file = tree.has(path) ? tree.file(path) : new MemoryFile(tree.nextInode(), tree.now());
      file.truncate(0, tree.now());
      tree.put(path, file);
      return openFile(tree, file, 'write');
    },
    stat: (path) => (tree.has(path) ? tree.node(path).state() : undefined),
    readText: (path) => tree.file(path).bytes().toString(),
    rename: (from, to) => tree.rename(from, to),
    link: (from, to) => {
      const file = tree.file(from);
      if (tree.has(to)) throw systemError('EEXIST', to);
      tree.put(to, file);
    },
    unlink: (path) => {
      tree.file(path);
      tree.remove(path);
    },
    makeDirectory: (path) => {
      if (!tree.has(path)) tree.put(path, new MemoryDirectory(tree.nextInode(), tree.now()));
    },
    removeDirectory: (path) => {
      tree.directory(path);
      if (tree.namesIn(path).length > 0) throw systemError('ENOTEMPTY', path);
      tree.remove(path);
    },
    list: (path) => {
      tree.directory(path);
      return tree.namesIn(path);
    },
    syncDirectory: async (path) => void tree.directory(path),
  };
}

class MemoryDirectory {
  readonly inode: number;
  modifiedMs: number;

  constructor(inode: number, now: number) {
    this.inode = inode;
    this.modifiedMs = now;
  }

  state(): FileState {
    return { inode: this.inode, size: 0, modifiedMs: this.modifiedMs };
  }
}

class MemoryFile {
  readonly inode: number;
  #modifiedMs: number;
  #buffer = Buffer.alloc(0);
  #size = 0;

  constructor(inode: number, now: number) {
    this.inode = inode;
    this.#modifiedMs = now;
  }

  state(): FileState {
    return { inode: this.inode, size: this.#size, modifiedMs: this.#modifiedMs };
  }

  bytes(): Buffer {
    return this.#buffer.subarray(0, this.#size);
  }

  write(bytes: Uint8Array, position: number, now: number): number {
    const end = position + bytes.length;
    if (end > this.#buffer.length) {
      // At least double the capacity: copying everything at every append would be quadratic.
      const buffer = Buffer.alloc(Math.max(end, 2 * this.#buffer.length));
      this.bytes().copy(buffer);
      this.#buffer = buffer;
    }
    this.#buffer.set(bytes, position);
    this.#size = Math.max(this.#size, end);
    this.#modifiedMs = now;
    return bytes.length;
  }

  truncate(size: number, now: number): void {
    if (size > this.#size) this.write(Buffer.alloc(size - this.#size), this.#size, now);
    this.#buffer.fill(0, size, this.#size);
    this.#size = size;
    this.#modifiedMs = now;
  }
}

type Node = MemoryFile | MemoryDirectory;

/** The nodes by absolute path. */
class Tree {
  readonly #nodes = new Map<string, Node>();
  #lastInode = 1;
  #lastMs = 0;

  /** Strictly increasing, because changes to a file are detected by its modification time. */
  now(): number {
    this.#lastMs = Math.max(this.#lastMs + 0.001, Date.now());
    return this.#lastMs;
  }

  nextInode(): number {
    return (this.#lastInode += 1);
  }

  has(path: string): boolean {
    const at = resolve(path);
    return this.#nodes.has(at) || isRoot(at);
  }

  node(path: string): Node {
    const at = resolve(path);
    const node = this.#nodes.get(at);
    if (node !== undefined) return node;
    if (isRoot(at)) return new MemoryDirectory(1, 0);
    throw systemError('ENOENT', path);
  }

  file(path: string): MemoryFile {
    const node = this.node(path);
    if (node instanceof MemoryFile) return node;
    throw systemError('EISDIR', path);
  }

  directory(path: string): MemoryDirectory {
    const node = this.node(path);
    if (node instanceof MemoryDirectory) return node;
    throw systemError('ENOTDIR', path);
  }

  /** Stores a node at a path. If it replaces another node, open handles keep that one. */
  put(path: string, node: Node): void {
    this.directory(dirname(resolve(path))).modifiedMs = this.now();
    this.#nodes.set(resolve(path), node);
  }

  remove(path: string): void {
    this.directory(dirname(resolve(path))).modifiedMs = this.now();
    this.#nodes.delete(resolve(path));
  }

  namesIn(path: string): readonly string[] {
    const at = resolve(path);
    const start = isRoot(at) ? at : `${at}${sep}`;
    return [...this.#nodes.keys()]
      .filter((name) => dirname(name) === at)
      .map((name) => name.slice(start.length));
  }

  /** Supports only files: the store never renames directories. */
  rename(from: string, to: string): void {
    const file = this.file(from);
    if (this.has(to)) this.file(to);
    if (resolve(from) === resolve(to)) return;
    this.put(to, file);
    this.remove(from);
  }
}

function isRoot(path: string): boolean {
  return dirname(path) === path;
}

function openFile(tree: Tree, file: MemoryFile, mode: 'read' | 'write'): OpenFile {
  let isOpen = true;
  const assertOpen = (): MemoryFile => {
    if (isOpen) return file;
    throw systemError('EBADF', 'a closed file');
  };
  const assertWritable = (): MemoryFile => {
    if (mode === 'write') return assertOpen();
    throw systemError('EBADF', 'a file opened for reading');
  };
  return {
    state: () => assertOpen().state(),
    read: async (target, position) => assertOpen().bytes().subarray(position).copy(target),
    append: (bytes) => assertWritable().write(bytes, file.state().size, tree.now()),
    overwrite: (bytes, position) => assertWritable().write(bytes, position, tree.now()),
    truncate: (size) => assertWritable().truncate(size, tree.now()),
    sync: async () => void assertOpen(),
    close: () => {
      isOpen = false;
    },
  };
}

function systemError(code: string, path: string): Error {
  return Object.assign(new Error(`${code}: ${path}, in memory`), { code });
}
