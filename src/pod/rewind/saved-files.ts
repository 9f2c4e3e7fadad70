import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { systemCodeOf } from '../../base/index.ts';
import type { Durability, Files } from '../../store/index.ts';
import { makeDirectories } from '../journal/index.ts';

export interface SavedFilesOptions {
  readonly directory: string;
  readonly files: Files;
  readonly durability: Durability;
  /** If the files together are larger, the oldest are removed. */
  readonly maxBytes?: number;
}

/** The saved contents of files of one session, named by their SHA-256. */
export class SavedFiles {
  readonly #options: Required<SavedFilesOptions>;
  /** The sizes by name, the least recently saved first. Only this process writes the directory. */
  #sizes: Map<string, number> | undefined;

  constructor(options: SavedFilesOptions) {
    this.#options = { maxBytes: MAX_BYTES, ...options };
  }

  /** Saves a content and returns its hash. Resolves when it is on disk. `kept` contents are not removed to make room. */
  async save(bytes: Uint8Array, kept: ReadonlySet<string> = new Set()): Promise<string> {
    const { directory, files, durability } = this.#options;
    const hash = contentHash(bytes);
    const changed = makeDirectories(files, directory);
    // Written again even if it exists: the time of the last use decides which content is removed first.
    const draft = join(directory, `${hash}.new`);
    const file = files.create(draft);
    try {
      for (let at = 0; at < bytes.length; ) at += file.append(bytes.subarray(at));
      if (durability !== 'none') await file.sync();
    } finally {
      file.close();
    }
    files.rename(draft, join(directory, hash));
    this.#makeRoom(hash, bytes.length, kept);
    if (durability !== 'none') for (const path of [directory, ...changed]) await files.syncDirectory(path);
    return hash;
  }

  /** Returns undefined if the content was removed or is damaged. */
  async read(hash: string): Promise<Buffer | undefined> {
    const { directory, files } = this.#options;
    if (!/^[0-9a-f]{64}$/.test(hash)) return undefined;
    try {
      const file = files.openToRead(join(directory, hash));
      try {
        const bytes = Buffer.alloc(file.state().size);
        await file.read(bytes, 0);
        return contentHash(bytes) === hash ? bytes : undefined;
      } finally {
        file.close();
      }
    } catch (thrown) {
      if (systemCodeOf(thrown) === 'ENOENT') return undefined;
      throw thrown;
    }
  }

  #makeRoom(newest: string, bytes: number, kept: ReadonlySet<string>): void {
    const { directory, files, maxBytes } = this.#options;
    const sizes = (this.#sizes ??= this.#listSizes());
    sizes.delete(newest);
    sizes.set(newest, bytes);
    let total = [...sizes.values()].reduce((sum, size) => sum + size, 0);
    for (const [name, size] of sizes) {
      if (total <= maxBytes) return;
      if (kept.has(name) || name === newest) continue;
      files.unlink(join(directory, name));
      sizes.delete(name);
      total -= size;
    }
  }

  #listSizes(): Map<string, number> {
    const { directory, files } = this.#options;
    const saved = files.list(directory).flatMap((name) => {
      const state = files.stat(join(directory, name));
      return state === undefined ? [] : [{ name, ...state }];
    });
    const oldestFirst = saved.toSorted((one, other) => one.modifiedMs - other.modifiedMs);
    return new Map(oldestFirst.map(({ name, size }) => [name, size]));
  }
}

export function contentHash(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

const MAX_BYTES = 256 * 1024 * 1024;
