import { dirname, resolve, sep } from 'node:path';
import type { Files, FileState, OpenFile } from './files.ts';

/** A file system that is gone with the process, for what must leave no trace on the disk. Only the root is there at first. */
export function memoryFiles(): Files {
  const tree = new Tree();
  return {
    openToRead: (path) => opened(tree, tree.file(path), 'read'),
    openToAppend: (path) => opened(tree, tree.file(path), 'write'),
    openToUpdate: (path) => opened(tree, tree.file(path), 'write'),
    create: (path) => {
      const file = tree.has(path) ? tree.file(path) : new MemoryFile(tree.nextInode(), tree.now());
      file.truncate(0, tree.now());
      tree.put(path, file);
      return opened(tree, file, 'write');
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
  #room = Buffer.alloc(0);
  #size = 0;

  constructor(inode: number, now: number) {
    this.inode = inode;
    this.#modifiedMs = now;
  }

  state(): FileState {
    return { inode: this.inode, size: this.#size, modifiedMs: this.#modifiedMs };
  }

  bytes(): Buffer {
    return this.#room.subarray(0, this.#size);
  }

  write(bytes: Uint8Array, position: number, now: number): number {
    const end = position + bytes.length;
    if (end > this.#room.length) {
      // Twice the room at least: to copy everything at every append is quadratic.
      const room = Buffer.alloc(Math.max(end, 2 * this.#room.length));
      this.bytes().copy(room);
      this.#room = room;
    }
    this.#room.set(bytes, position);
    this.#size = Math.max(this.#size, end);
    this.#modifiedMs = now;
    return bytes.length;
  }

  truncate(size: number, now: number): void {
    if (size > this.#size) this.write(Buffer.alloc(size - this.#size), this.#size, now);
    this.#room.fill(0, size, this.#size);
    this.#size = size;
    this.#modifiedMs = now;
  }
}

type Node = MemoryFile | MemoryDirectory;

/** Which node has which name, by absolute paths. */
class Tree {
  readonly #nodes = new Map<string, Node>();
  #lastInode = 1;
  #lastMs = 0;

  /** Later than the time before, however quickly they follow: a changed file is known by it. */
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

  /** Gives a node a name, also one that another had: whoever has that one open keeps it. */
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

  /** Only of files: the store gives directories their names once. */
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

function opened(tree: Tree, file: MemoryFile, mode: 'read' | 'write'): OpenFile {
  let isOpen = true;
  const here = (): MemoryFile => {
    if (isOpen) return file;
    throw systemError('EBADF', 'a closed file');
  };
  const writable = (): MemoryFile => {
    if (mode === 'write') return here();
    throw systemError('EBADF', 'a file opened to be read');
  };
  return {
    state: () => here().state(),
    read: async (target, position) => here().bytes().subarray(position).copy(target),
    append: (bytes) => writable().write(bytes, file.state().size, tree.now()),
    overwrite: (bytes, position) => writable().write(bytes, position, tree.now()),
    truncate: (size) => writable().truncate(size, tree.now()),
    sync: async () => void here(),
    close: () => {
      isOpen = false;
    },
  };
}

function systemError(code: string, path: string): Error {
  return Object.assign(new Error(`${code}: ${path}, in memory`), { code });
}
