import { basename, dirname } from 'node:path';
import type { Files, FileState, OpenFile } from '../../src/store/index.ts';

/** Thrown by every operation after the power cut. */
export class PowerCut extends Error {}

/** The content of the disk after a power cut. */
export interface Survival {
  /** The fraction, 0 to 1, of the unsynced bytes that reached the disk: the last write is torn at this offset. */
  readonly torn: number;
  /** Whether those bytes are zeros: the size was written, the content was not. */
  readonly zeros: boolean;
  /** Whether unsynced directory entries reached the disk. */
  readonly names: boolean;
}

export type Fault = 'ENOSPC' | 'EIO' | 'EROFS';

interface Inode {
  readonly id: number;
  /** The content that programs see. */
  content: Buffer;
  /** The content on the disk. */
  durable: Buffer;
  /** Ranges of the content that the next sync must write. */
  dirty: (readonly [from: number, to: number])[];
  modifiedMs: number;
}

type Names = Map<string, Inode>;

/**
 * A file system in memory that separates the content that programs see from the content on the disk, and that
 * fails on demand. Every mutating operation is counted, a sync twice, at its start and its end, because data
 * written in between is not part of the sync.
 */
export class FaultyFiles implements Files {
  /** Names of the operations so far. */
  readonly operations: string[] = [];
  /** The power is cut instead of the operation with this number, the first being 0. */
  cutAt = Number.POSITIVE_INFINITY;
  /** Fails appends with this error after this many bytes, until it is unset. */
  full: { readonly fault: Fault; freeBytes: number } | undefined;
  /** Fails syncs of files; as on Linux, the pages are marked clean afterwards. */
  syncFault: Fault | undefined;
  /** Fails truncation, so that a failed append cannot be undone. */
  truncateFault: Fault | undefined;
  /** The maximum number of bytes per append. */
  mostBytes = Number.POSITIVE_INFINITY;
  #names: Names;
  #durableNames: Names;
  #lastId = 0;
  #clock = 0;

  constructor(names: Names = new Map()) {
    this.#names = new Map(names);
    this.#durableNames = new Map(names);
    for (const { id } of names.values()) this.#lastId = Math.max(this.#lastId, id);
  }

  /** The file system after a restart of the machine. */
  afterPowerCut({ torn, zeros, names }: Survival): FaultyFiles {
    const survivors = names ? this.#names : this.#durableNames;
    const files = new FaultyFiles();
    for (const [path, inode] of survivors) {
      const { content, durable } = inode;
      const kept = Math.floor(torn * Math.max(0, content.length - durable.length));
      const more = content.subarray(durable.length, durable.length + kept);
      const found = Buffer.concat([durable, zeros ? Buffer.alloc(kept) : more]);
      files.put(path, found);
    }
    return files;
  }

  /** Adds a file that is already on the disk. */
  put(path: string, content: Uint8Array): void {
    const inode: Inode = {
      id: (this.#lastId += 1),
      content: Buffer.from(content),
      durable: Buffer.from(content),
      dirty: [],
      modifiedMs: (this.#clock += 1),
    };
    this.#names.set(path, inode);
    this.#durableNames.set(path, inode);
  }

  contentOf(path: string): Buffer {
    return Buffer.from(this.#inode(path).content);
  }

  openToRead(path: string): OpenFile {
    return this.#open(this.#inode(path));
  }

  openToAppend(path: string): OpenFile {
    return this.#open(this.#inode(path));
  }

  openToUpdate(path: string): OpenFile {
    return this.#open(this.#inode(path));
  }

  create(path: string): OpenFile {
    this.#step('create');
    const inode: Inode = {
      id: (this.#lastId += 1),
      content: Buffer.alloc(0),
      durable: Buffer.alloc(0),
      dirty: [],
      modifiedMs: (this.#clock += 1),
    };
    this.#names.set(path, inode);
    return this.#open(inode);
  }

  stat(path: string): FileState | undefined {
    this.#assertPower();
    const inode = this.#names.get(path);
    return inode && stateOf(inode);
  }

  readText(path: string): string {
    return this.#inode(path).content.toString();
  }

  rename(from: string, to: string): void {
    this.#step('rename');
    this.#names.set(to, this.#inode(from));
    this.#names.delete(from);
  }

  link(from: string, to: string): void {
    this.#step('link');
    if (this.#names.has(to)) throw systemError('EEXIST');
    this.#names.set(to, this.#inode(from));
  }

  unlink(path: string): void {
    this.#step('unlink');
    if (!this.#names.delete(path)) throw systemError('ENOENT');
  }

  makeDirectory(_path: string): void {
    this.#assertPower();
  }

  removeDirectory(_path: string): void {
    this.#assertPower();
  }

  list(path: string): readonly string[] {
    this.#assertPower();
    return [...this.#names.keys()].filter((name) => dirname(name) === path).map((name) => basename(name));
  }

  async syncDirectory(path: string): Promise<void> {
    this.#step('sync names');
    const now = [...this.#names].filter(([name]) => dirname(name) === path);
    await aWhile();
    this.#step('names synced');
    for (const name of this.#durableNames.keys()) if (dirname(name) === path) this.#durableNames.delete(name);
    for (const [name, inode] of now) this.#durableNames.set(name, inode);
  }

  #open(inode: Inode): OpenFile {
    return {
      state: () => {
        this.#assertPower();
        return stateOf(inode);
      },
      read: async (target, position) => {
        await Promise.resolve();
        this.#assertPower();
        return inode.content.copy(target, 0, position, position + target.length);
      },
      append: (bytes) => this.#append(inode, bytes),
      overwrite: (bytes, position) => {
        this.#step('overwrite');
        inode.content.set(bytes, position);
        inode.dirty.push([position, position + bytes.length]);
        return bytes.length;
      },
      truncate: (size) => {
        this.#step('truncate');
        if (this.truncateFault !== undefined) throw systemError(this.truncateFault);
        inode.content = inode.content.subarray(0, size);
      },
      sync: () => this.#sync(inode),
      close: () => {},
    };
  }

  #append(inode: Inode, bytes: Uint8Array): number {
    this.#step('append');
    if (this.full?.freeBytes === 0) throw systemError(this.full.fault);
    const count = Math.min(bytes.length, this.mostBytes, this.full?.freeBytes ?? bytes.length);
    if (this.full !== undefined) this.full.freeBytes -= count;
    const from = inode.content.length;
    inode.content = Buffer.concat([inode.content, bytes.subarray(0, count)]);
    inode.dirty.push([from, from + count]);
    inode.modifiedMs = this.#clock += 1;
    return count;
  }

  async #sync(inode: Inode): Promise<void> {
    this.#step('sync');
    const [content, dirty] = [Buffer.from(inode.content), inode.dirty];
    inode.dirty = [];
    await aWhile();
    this.#step('synced');
    if (this.syncFault !== undefined) throw systemError(this.syncFault);
    const durable = Buffer.alloc(content.length);
    inode.durable.copy(durable);
    for (const [from, to] of dirty) content.copy(durable, from, from, to);
    inode.durable = durable;
  }

  #inode(path: string): Inode {
    this.#assertPower();
    const inode = this.#names.get(path);
    if (inode === undefined) throw systemError('ENOENT');
    return inode;
  }

  #step(operation: string): void {
    this.#assertPower();
    this.operations.push(operation);
    this.#assertPower();
  }

  #assertPower(): void {
    if (this.operations.length > this.cutAt) throw new PowerCut('the power was cut');
  }
}

/** Replaces some operations, to inject defects. */
export function withChanges(
  files: Files,
  changes: { readonly sync?: () => Promise<void>; readonly syncDirectory?: () => Promise<void> },
): Files {
  const change = (file: OpenFile): OpenFile => ({ ...file, ...(changes.sync && { sync: changes.sync }) });
  return {
    openToRead: (path) => change(files.openToRead(path)),
    openToAppend: (path) => change(files.openToAppend(path)),
    openToUpdate: (path) => change(files.openToUpdate(path)),
    create: (path) => change(files.create(path)),
    stat: (path) => files.stat(path),
    readText: (path) => files.readText(path),
    rename: (from, to) => files.rename(from, to),
    link: (from, to) => files.link(from, to),
    unlink: (path) => files.unlink(path),
    makeDirectory: (path) => files.makeDirectory(path),
    removeDirectory: (path) => files.removeDirectory(path),
    list: (path) => files.list(path),
    syncDirectory: changes.syncDirectory ?? ((path) => files.syncDirectory(path)),
  };
}

function stateOf({ id, content, modifiedMs }: Inode): FileState {
  return { inode: id, size: content.length, modifiedMs };
}

function systemError(code: string): Error {
  return Object.assign(new Error(`${code}: planted`), { code });
}

function aWhile(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}
