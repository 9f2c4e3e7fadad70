import { randomUUID } from 'node:crypto';
import { basename, dirname } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { PolypodError, systemCodeOf } from '../../base/index.ts';
import { appendAll, discard, type Files, type Lock, type OpenFile, sealRecords } from '../../store/index.ts';
import { type RowChange, encodeChange, HEADER } from './change.ts';
import { type Part, readPart } from './line.ts';
import type { Row } from './row.ts';

/**
 * The catalogue file that all processes append to, with the position up to which this process has read it.
 *
 * Any process may replace the file with a shorter one at any time. A writer therefore checks after each append whether the file
 * is still in place, and appends to the new file if not. The process that replaces the file reads the old one again after the
 * rename: a writer that found the old file in place had appended before the rename, so its lines are there. They are appended to
 * the new file as copied changes, which have lower precedence than changes that the same writer may already have appended. So no
 * change is lost, and no stale change wins.
 *
 * The file stays open so that its inode identifies it: the number of an open inode is not reused.
 */
export class CatalogueFile {
  readonly #files: Files;
  readonly #path: string;
  readonly #file: OpenFile;
  readonly #inode: number;
  #end = 0;
  #lines = 0;
  #badLines = 0;

  private constructor(files: Files, path: string, file: OpenFile) {
    this.#files = files;
    this.#path = path;
    this.#file = file;
    this.#inode = file.state().inode;
  }

  /** Returns undefined if the file does not exist. */
  static open(files: Files, path: string): CatalogueFile | undefined {
    try {
      return new CatalogueFile(files, path, files.openToAppend(path));
    } catch (error) {
      if (systemCodeOf(error) === 'ENOENT') return undefined;
      throw error;
    }
  }

  /** Creates a file without rows, unless another process creates it first. The file gets its name once its header is on disk. */
  static async create(files: Files, path: string): Promise<void> {
    const draft = `${path}.${randomUUID()}`;
    try {
      await writeFile(files, draft, [[HEADER]]);
      files.link(draft, path);
      await files.syncDirectory(dirname(path));
    } catch (error) {
      if (systemCodeOf(error) !== 'EEXIST') throw error;
    } finally {
      discard(files, draft);
    }
  }

  /** The end of the lines that were read, or appended with no other writer in between. */
  get end(): number {
    return this.#end;
  }

  /** The number of changes up to `end`. */
  get lines(): number {
    return this.#lines;
  }

  get badLines(): number {
    return this.#badLines;
  }

  /** Whether the path still refers to this file. */
  isInPlace(): boolean {
    const state = this.#files.stat(this.#path);
    return state?.inode === this.#inode && state.size >= this.#end;
  }

  /** Returns the changes since the last read. */
  async readOn(): Promise<readonly RowChange[]> {
    const part = await this.readFrom(this.#end);
    if (this.#end === 0 && !part.hasHeader && part.changes.length === 0) this.#assertEmpty();
    this.#end += part.length;
    this.#lines += part.changes.length;
    this.#badLines += part.badLines;
    return part.changes;
  }

  /** Reads from an offset, which must be the start of a line. */
  async readFrom(from: number): Promise<Part> {
    const bytes = Buffer.allocUnsafe(Math.max(0, this.#file.state().size - from));
    const count = bytes.length === 0 ? 0 : await this.#file.read(bytes, from);
    return readPart(bytes.subarray(0, count));
  }

  /** Appends changes in one write. Returns false if the file was replaced: the changes must then be appended to the new file. */
  append(changes: readonly RowChange[]): boolean {
    const before = this.#file.state().size;
    const records = changes.map(encodeChange);
    const length = appendRecords(this.#file, this.#end === 0 ? [HEADER, ...records] : records, this.#path);
    if (before === this.#end && this.#file.state().size === before + length) {
      this.#end += length;
      this.#lines += changes.length;
    }
    return this.isInPlace();
  }

  /**
   * Replaces this file with a new one that contains these rows, which reflect the content up to `upTo`. The caller holds the
   * lock. A crash leaves the old file or the new one; a crash between the rename and the copy can lose what others appended in
   * that moment.
   */
  async exchange(rows: readonly Row[], upTo: number, lock: Lock): Promise<void> {
    const draft = `${this.#path}.new`;
    try {
      await writeFile(this.#files, draft, draftRecords(rows));
      const next = this.#files.openToAppend(draft);
      try {
        lock.assertOwner();
        this.#files.rename(draft, this.#path);
        const { changes } = await this.readFrom(upTo);
        const late = changes.map((change) => encodeChange({ ...change, copied: true }));
        if (late.length > 0) appendRecords(next, late, this.#path);
      } finally {
        next.close();
      }
    } catch (error) {
      discard(this.#files, draft);
      throw error;
    }
    await this.#files.syncDirectory(dirname(this.#path));
  }

  close(): void {
    this.#file.close();
  }

  #assertEmpty(): void {
    if (this.#file.state().size === 0) return;
    throw new PolypodError(
      'conflict',
      `${basename(this.#path)} is not a catalogue, or is unreadable, so it was not changed. Move it away: Polypod rebuilds it from the session files.`,
    );
  }
}

/** Appends whole lines in one write. It starts with a newline, in case another process died in the middle of a line. */
function appendRecords(file: OpenFile, records: readonly string[], path: string): number {
  const bytes = Buffer.concat([NEWLINE, sealRecords(records)]);
  // A partial write cannot be continued, because another process may have appended after it. Retry the whole write. The retry
  // also returns the error code: a full disk reports it only on the second write.
  for (let attempts = 0; attempts < 2; attempts += 1)
    if (file.append(bytes) === bytes.length) return bytes.length;
  throw new PolypodError('overloaded', `the disk accepted only part of a write to ${basename(path)}.`);
}

const NEWLINE = Buffer.from('\n');

/** How many rows are encoded at a time, so that other work can run in between. */
const STEP = 500;

function* draftRecords(rows: readonly Row[]): Generator<readonly string[]> {
  yield [HEADER];
  for (let start = 0; start < rows.length; start += STEP)
    yield rows.slice(start, start + STEP).map((row) => encodeChange({ id: row.id, row, copied: true }));
}

/** Writes a file that no other process knows yet. Resolves when it is on disk. */
async function writeFile(files: Files, path: string, steps: Iterable<readonly string[]>): Promise<void> {
  const file = files.create(path);
  try {
    for (const records of steps) {
      appendAll(file, sealRecords(records));
      await setImmediate();
    }
    await file.sync();
  } finally {
    file.close();
  }
}
