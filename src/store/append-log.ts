import { basename } from 'node:path';
import { PolypodError } from '../base/index.ts';
import { Deferred } from './deferred.ts';
import { markUnsynced } from './unsynced.ts';
import { fileFailure } from './failure.ts';
import { type Files, type FileState, realFiles } from './files.ts';
import { GroupSync } from './group-sync.ts';
import { isRecord, sealRecords } from './line.ts';
import {
  appendAll,
  createLogFile,
  tryTruncate,
  truncateFile,
  type LogFile,
  type LogKind,
  openLogFile,
  type Repair,
} from './log-file.ts';

/**
 * What is guaranteed when a durable append resolves.
 * - `full`: it survives a power cut. One sync covers everything written during the previous sync.
 * - `relaxed`: it survives a kill of the process; a power cut loses at most the last `syncWithinMs` milliseconds.
 * - `none`: it survives a kill of the process; the operating system decides when it reaches the disk.
 *
 * An append that is not durable resolves when it is written: it survives a kill, but may be lost in a power cut.
 */
export type Durability = 'full' | 'relaxed' | 'none';

export interface LogOptions extends LogKind {
  readonly durability?: Durability;
  /** How long a durable append may wait for the disk at the level `relaxed`. */
  readonly syncWithinMs?: number;
  /** Called before and after every write. It throws if this process no longer owns the file, like `Lock.assertOwner`. */
  readonly guard?: () => void;
  /** Only Polypod writes to the file, so writes do not check for changes by other programs. */
  readonly isPrivate?: boolean;
  readonly files?: Files;
}

/** Opens a log for appending, by one writer at a time. Creates the file if it is missing; its directory must exist. */
export async function openLog(path: string, options: LogOptions): Promise<AppendLog> {
  const settings = { ...DEFAULTS, ...options };
  settings.guard();
  return new AppendLog(path, settings, await openLogFile(settings.files, path, settings, isSynced(settings)));
}

const DEFAULTS = {
  durability: 'full',
  syncWithinMs: 100,
  guard: () => {},
  isPrivate: false,
  files: realFiles,
} as const;

type Settings = Required<LogOptions>;

function isSynced({ durability }: Settings): boolean {
  return durability !== 'none';
}

/** The records appended in one turn of the event loop. They are written together, and their callers share a promise. */
interface Batch {
  readonly records: string[];
  written: Deferred | undefined;
  durable: Deferred | undefined;
}

/**
 * An append-only file of JSON lines. It does not interpret the records.
 *
 * Writes are synchronous, one per turn of the event loop: a `writeSync` of 100 records to the page cache costs 1.1 µs of
 * CPU per record, an asynchronous write 2.0 µs because of the thread pool. A sync waits for the disk, so it is
 * asynchronous, and only one runs at a time.
 *
 * If a write or a sync fails, or another program changed the file, the log has failed: all pending and later appends are
 * rejected with the same error, acknowledged records are not touched, and `reopen` tries again. As with any commit whose
 * response was lost, a record whose append was rejected may still be in the file.
 */
export class AppendLog {
  readonly path: string;
  readonly #settings: Settings;
  readonly #sync = new GroupSync(() => this.#syncNow());
  #current: LogFile;
  #end: number;
  /** The offset up to which the file is synced. */
  #synced: number;
  #batch: Batch | undefined;
  #timer: NodeJS.Timeout | undefined;
  #failure: PolypodError | undefined;
  /** Part of a rejected batch may be past the end of the log, because truncating it failed. */
  #needsTruncation = false;
  /** While the file is being replaced, appends are only queued. */
  #isRotating = false;

  constructor(path: string, settings: Settings, opened: LogFile) {
    this.path = path;
    this.#settings = settings;
    this.#current = opened;
    this.#end = opened.end;
    this.#synced = opened.end;
  }

  /** The first record of the file. */
  get header(): string {
    return this.#current.header;
  }

  /** The offset of the first record after the header. */
  get start(): number {
    return this.#current.start;
  }

  /** The end of the last written record: the file may be read up to here. */
  get end(): number {
    return this.#end;
  }

  /** The repair of the end of the file when it was opened, if there was one. */
  get repair(): Repair | undefined {
    return this.#current.repair;
  }

  /** Why nothing can be appended; undefined if the log has not failed. */
  get failure(): PolypodError | undefined {
    return this.#failure;
  }

  /**
   * Appends records, each the JSON text of one object. Resolves when they are written and, if `durable`, when they have the
   * log's durability. All appends of one turn of the event loop are written together, in order. Without records, it
   * waits for the previous ones.
   */
  append(records: readonly string[], durable: boolean): Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    if (!records.every(isRecord)) return Promise.reject(notARecordError());
    const batch = (this.#batch ??= this.#nextBatch());
    for (const record of records) batch.records.push(record);
    return durable ? (batch.durable ??= new Deferred()).promise : (batch.written ??= new Deferred()).promise;
  }

  /** Writes the records of this turn immediately, for a caller that has appended its last one. */
  flush(): void {
    const batch = this.#batch;
    if (batch === undefined || this.#isRotating) return;
    this.#batch = undefined;
    if (this.#failure === undefined && batch.records.length > 0) this.#write(batch.records);
    if (this.#failure === undefined) this.#acknowledge(batch);
    else rejectBatch(batch, this.#failure);
  }

  /** Opens the file again after a failure; otherwise does nothing. Rejects if the cause persists. */
  async reopen(): Promise<void> {
    if (this.#failure === undefined) return;
    const { files, guard } = this.#settings;
    await this.#sync.idle();
    guard();
    this.#truncateFailedWrite();
    const opened = await openLogFile(files, this.path, this.#settings, isSynced(this.#settings));
    this.#switchTo(opened);
    this.#failure = undefined;
  }

  /**
   * Replaces the file with a new one that has another header. Readers of the old file can read it to its end. Records
   * appended after this call are in the new file. A crash leaves either the complete old file or the new one.
   */
  async rotate(header: string): Promise<void> {
    this.flush();
    if (this.#failure !== undefined) throw this.#failure;
    if (!isRecord(header)) throw notARecordError();
    if (this.#isRotating)
      throw new PolypodError('internal', `${basename(this.path)} is already being rotated`);
    const { files } = this.#settings;
    this.#isRotating = true;
    try {
      await this.#sync.idle();
      this.#assertUnchanged();
      await createLogFile(files, this.path, header, isSynced(this.#settings));
      this.#switchTo(
        await openLogFile(files, this.path, { header, isHeader: (text) => text === header }, false),
      );
    } catch (error) {
      const failure = fileFailure(this.path, 'rotate', error);
      // Until the new file is renamed to the path, the old one can still be used.
      if (this.#fileState()?.inode !== this.#current.inode) this.#failure ??= failure;
      throw failure;
    } finally {
      this.#isRotating = false;
      this.flush();
    }
  }

  /** Writes and syncs the remaining records, then closes the file. Later appends are rejected. */
  async close(): Promise<void> {
    this.flush();
    clearTimeout(this.#timer);
    const isHealthy = this.#failure === undefined;
    try {
      await this.#sync.idle();
      if (isHealthy && isSynced(this.#settings) && this.#synced < this.#end) await this.#sync.wait();
    } finally {
      this.#failure = new PolypodError(
        'conflict',
        `${basename(this.path)} is closed. Open it again to append.`,
      );
      this.#current.file.close();
    }
  }

  #nextBatch(): Batch {
    // Runs after all I/O callbacks of this turn, so that one write covers their records.
    setImmediate(() => this.flush());
    return { records: [], written: undefined, durable: undefined };
  }

  #write(records: readonly string[]): void {
    const { file } = this.#current;
    try {
      this.#assertUnchanged();
      const bytes = sealRecords(records);
      try {
        appendAll(file, bytes);
      } catch (error) {
        this.#needsTruncation = !tryTruncate(file, this.#end);
        throw error;
      }
      this.#end += bytes.length;
      // If another process took over while this one was suspended before the write, the write must not be acknowledged.
      this.#settings.guard();
    } catch (error) {
      this.#failure = fileFailure(this.path, 'append to', error);
    }
  }

  #assertUnchanged(): void {
    this.#settings.guard();
    if (this.#settings.isPrivate) return;
    const state = this.#fileState();
    if (state?.inode === this.#current.inode && state.size === this.#end) return;
    throw new PolypodError(
      'conflict',
      `${basename(this.path)}: changed by another program. Fork the session to continue, or open it again with the changes.`,
    );
  }

  #fileState(): FileState | undefined {
    return this.#settings.files.stat(this.path);
  }

  #acknowledge({ written, durable }: Batch): void {
    written?.resolve();
    if (durable === undefined) return;
    const { durability, syncWithinMs } = this.#settings;
    if (durability === 'full') return durable.resolve(this.#sync.wait());
    if (durability === 'relaxed') this.#timer ??= setTimeout(() => this.#syncInBackground(), syncWithinMs);
    durable.resolve();
  }

  #syncInBackground(): void {
    this.#timer = undefined;
    // A failure rejects the next append; these appends have already been resolved.
    this.#sync.wait().catch(() => {});
  }

  async #syncNow(): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure;
    const { file } = this.#current;
    const end = this.#end;
    try {
      await file.sync();
    } catch (error) {
      markUnsynced(this.#settings.files, this.path, this.#synced);
      this.#failure ??= fileFailure(this.path, 'append to', error);
      throw this.#failure;
    }
    if (file === this.#current.file) this.#synced = end;
  }

  /** Truncates the remains of a failed write, if the file is still the one that was written to. */
  #truncateFailedWrite(): void {
    const { files } = this.#settings;
    try {
      const state = this.#fileState();
      if (state?.inode !== this.#current.inode || state.size < this.#end) return;
      if (this.#needsTruncation) truncateFile(files, this.path, this.#end);
      this.#needsTruncation = false;
    } catch (error) {
      throw fileFailure(this.path, 'open', error);
    }
  }

  #switchTo(opened: LogFile): void {
    this.#current.file.close();
    this.#current = opened;
    this.#end = opened.end;
    this.#synced = opened.end;
  }
}

function notARecordError(): PolypodError {
  return new PolypodError(
    'internal',
    'a log record must be the JSON text of one object with at least one key, on one line',
  );
}

function rejectBatch({ written, durable }: Batch, failure: PolypodError): void {
  written?.reject(failure);
  durable?.reject(failure);
}
