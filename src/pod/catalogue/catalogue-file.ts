import { randomUUID } from 'node:crypto';
import { basename, dirname } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { PolypodError, systemCodeOf } from '../../base/index.ts';
import { type Files, type Lock, type OpenFile, sealRecords } from '../../store/index.ts';
import { type Change, encodeChange, HEADER } from './change.ts';
import { type Part, readPart } from './line.ts';
import type { Row } from './row.ts';

/**
 * The file that all processes append to, as one of them has it open, and how much of it that one has read.
 *
 * It may be exchanged for a shorter one at any time, so whoever appends looks afterwards whether it is still in place,
 * and appends to the new one if not. Whoever exchanges it reads the old one once more after the renaming: a writer that
 * found it in place had written before, so its lines are there. They go to the new file as copied ones, which count less
 * than what the same writer may have appended there already. So nothing is lost, and nothing old comes back.
 *
 * That the file is kept open is what makes it recognisable: the number of an open inode is not given to another file.
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

  /** Undefined if there is none. */
  static open(files: Files, path: string): CatalogueFile | undefined {
    try {
      return new CatalogueFile(files, path, files.openToAppend(path));
    } catch (error) {
      if (systemCodeOf(error) === 'ENOENT') return undefined;
      throw error;
    }
  }

  /** Makes one with no rows, unless another process is quicker. It gets its name when its header is on the disk. */
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

  /** Where the lines end that were read, or appended without anybody else in between. */
  get end(): number {
    return this.#end;
  }

  /** How many changes there are up to that place. */
  get lines(): number {
    return this.#lines;
  }

  get badLines(): number {
    return this.#badLines;
  }

  /** Whether the path still leads here. */
  isInPlace(): boolean {
    const state = this.#files.stat(this.#path);
    return state?.inode === this.#inode && state.size >= this.#end;
  }

  /** The changes that have come since the last look. */
  async readOn(): Promise<readonly Change[]> {
    const part = await this.readFrom(this.#end);
    if (this.#end === 0 && !part.hasHeader && part.changes.length === 0) this.#assertEmpty();
    this.#end += part.length;
    this.#lines += part.changes.length;
    this.#badLines += part.badLines;
    return part.changes;
  }

  /** What stands behind a place, which is a line's start. */
  async readFrom(from: number): Promise<Part> {
    const bytes = Buffer.allocUnsafe(Math.max(0, this.#file.state().size - from));
    const count = bytes.length === 0 ? 0 : await this.#file.read(bytes, from);
    return readPart(bytes.subarray(0, count));
  }

  /** Appends changes in one write. False if the file was exchanged: then they have to be appended to the new one. */
  append(changes: readonly Change[]): boolean {
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
   * Puts a new file with these rows in place of this one; they say what stands here up to a place. The caller has the
   * lock. A crash leaves the old file or the new one; between the two it can take what others appended in that moment.
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
      `${basename(this.#path)} is not a catalogue, or nothing of it can be read, so it is left untouched. Move it away: it is made again from the session files.`,
    );
  }
}

/** One write of whole lines; it begins with a newline, in case another process died in the middle of a line. */
function appendRecords(file: OpenFile, records: readonly string[], path: string): number {
  const bytes = Buffer.concat([NEWLINE, sealRecords(records)]);
  // A write that took only a part cannot be gone on with: another process may have written behind it. It is made again
  // as a whole, which also tells the reason, since a disk that is full says so only then.
  for (let attempts = 0; attempts < 2; attempts += 1)
    if (file.append(bytes) === bytes.length) return bytes.length;
  throw new PolypodError('overloaded', `the disk took only a part of what was written to ${basename(path)}.`);
}

const NEWLINE = Buffer.from('\n');

/** How many rows are sealed at a time, so that others get their turn in between. */
const STEP = 500;

function* draftRecords(rows: readonly Row[]): Generator<readonly string[]> {
  yield [HEADER];
  for (let start = 0; start < rows.length; start += STEP)
    yield rows.slice(start, start + STEP).map((row) => encodeChange({ id: row.id, row, copied: true }));
}

/** A file that nobody else knows yet, on the disk when it resolves. */
async function writeFile(files: Files, path: string, steps: Iterable<readonly string[]>): Promise<void> {
  const file = files.create(path);
  try {
    for (const records of steps) {
      const bytes = sealRecords(records);
      for (let written = 0; written < bytes.length; ) written += file.append(bytes.subarray(written));
      await setImmediate();
    }
    await file.sync();
  } finally {
    file.close();
  }
}

function discard(files: Files, path: string): void {
  try {
    files.unlink(path);
  } catch {
    // It has its final name by now, or was never made.
  }
}
