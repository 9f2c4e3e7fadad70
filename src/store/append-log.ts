import { basename } from 'node:path';
import { PolypodError } from '../base/index.ts';
import { Deferred } from './deferred.ts';
import { doubt } from './doubt.ts';
import { fileFailure } from './failure.ts';
import { type Files, type FileState, realFiles } from './files.ts';
import { GroupSync } from './group-sync.ts';
import { isRecord, sealRecords } from './line.ts';
import {
  appendFully,
  createLogFile,
  cutBack,
  cutFile,
  type LogFile,
  type LogKind,
  openLogFile,
  type Repair,
} from './log-file.ts';

/**
 * What a durable append promises once it has resolved.
 * - `full`: it survives a power cut. One sync covers all that was written while the one before it ran.
 * - `relaxed`: it survives a kill of the process; a power cut takes at most the last `syncWithinMs` milliseconds.
 * - `none`: it survives a kill of the process; when it reaches the disk is up to the operating system.
 *
 * An append that is not durable resolves when it is written: it survives a kill, and a power cut may take it.
 */
export type Durability = 'full' | 'relaxed' | 'none';

export interface LogOptions extends LogKind {
  readonly durability?: Durability;
  /** How long a durable append may wait for the disk at the level `relaxed`. */
  readonly syncWithinMs?: number;
  /** Called before and after every write; it throws when the file is no longer ours, as `Lock.assertOwner` does. */
  readonly guard?: () => void;
  /** No other program has any business with it: whether one wrote to it is not looked at before every write. */
  readonly isPrivate?: boolean;
  readonly files?: Files;
}

/** Opens a log for appending, by one writer at a time. The file is made if there is none; its directory must exist. */
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

/** What was appended in one turn of the event loop: it leaves in one write, and whoever appended shares a promise. */
interface Batch {
  readonly records: string[];
  written: Deferred | undefined;
  durable: Deferred | undefined;
}

/**
 * An append-only file of JSON lines. It does not know what it logs.
 *
 * Writes are synchronous, one for each turn of the loop: a joined `writeSync` of 100 records goes to the page cache and
 * costs 1.1 µs of CPU a record, the asynchronous one 2.0 for its hop to the thread pool. A sync waits for the disk, so it
 * is asynchronous, and there is one at a time.
 *
 * When a write or a sync fails, or the file is no longer what was last written, the log has failed: all that is pending
 * and all that comes is rejected with the same error, nothing that was acknowledged is touched, and `reopen` tries again.
 * As with any commit whose answer was lost, a record whose append was rejected may still be found in the file.
 */
export class AppendLog {
  readonly path: string;
  readonly #settings: Settings;
  readonly #sync = new GroupSync(() => this.#syncNow());
  #current: LogFile;
  #end: number;
  /** Up to here the disk has said that it holds everything. */
  #synced: number;
  #batch: Batch | undefined;
  #timer: NodeJS.Timeout | undefined;
  #failure: PolypodError | undefined;
  /** Part of a rejected batch may stand past the end, and could not be taken back at once. */
  #isCutDue = false;
  /** While the file is being exchanged, appends only queue. */
  #isHeld = false;

  constructor(path: string, settings: Settings, opened: LogFile) {
    this.path = path;
    this.#settings = settings;
    this.#current = opened;
    this.#end = opened.end;
    this.#synced = opened.end;
  }

  /** The record that the file begins with. */
  get header(): string {
    return this.#current.header;
  }

  /** Where the first record after the header begins. */
  get start(): number {
    return this.#current.start;
  }

  /** Where the last written record ends: up to here the file may be read. */
  get end(): number {
    return this.#end;
  }

  /** What had to be done to the end of the file when it was opened. */
  get repair(): Repair | undefined {
    return this.#current.repair;
  }

  /** Why nothing can be appended; undefined while all is well. */
  get failure(): PolypodError | undefined {
    return this.#failure;
  }

  /**
   * Appends records, each the JSON text of one object. Resolves when they are written and, if they are durable, when they
   * are as safe as the log's level promises. All appends of one turn of the loop leave in one write, in order. Without
   * records it waits for those before.
   */
  append(records: readonly string[], durable: boolean): Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    if (!records.every(isRecord)) return Promise.reject(notARecord());
    const batch = (this.#batch ??= this.#nextBatch());
    for (const record of records) batch.records.push(record);
    return durable ? (batch.durable ??= new Deferred()).promise : (batch.written ??= new Deferred()).promise;
  }

  /** Writes what was appended in this turn now, for a caller who knows that its turn is over. */
  flush(): void {
    const batch = this.#batch;
    if (batch === undefined || this.#isHeld) return;
    this.#batch = undefined;
    if (this.#failure === undefined && batch.records.length > 0) this.#write(batch.records);
    if (this.#failure === undefined) this.#acknowledge(batch);
    else refuse(batch, this.#failure);
  }

  /** Opens the file again after a failure; does nothing while all is well. Rejects if the cause is still there. */
  async reopen(): Promise<void> {
    if (this.#failure === undefined) return;
    const { files, guard } = this.#settings;
    await this.#sync.idle();
    guard();
    this.#rescue();
    const opened = await openLogFile(files, this.path, this.#settings, isSynced(this.#settings));
    this.#use(opened);
    this.#failure = undefined;
  }

  /**
   * Begins the file anew with another header; what it held is gone, and whoever is reading it reads it to its end. What is
   * appended from this call on stands in the new file. A crash leaves either the whole old file or the new one.
   */
  async rotate(header: string): Promise<void> {
    this.flush();
    if (this.#failure !== undefined) throw this.#failure;
    if (!isRecord(header)) throw notARecord();
    if (this.#isHeld)
      throw new PolypodError('internal', `${basename(this.path)} is being begun anew already`);
    const { files } = this.#settings;
    this.#isHeld = true;
    try {
      await this.#sync.idle();
      this.#assertOurs();
      await createLogFile(files, this.path, header, isSynced(this.#settings));
      this.#use(await openLogFile(files, this.path, { header, isHeader: (text) => text === header }, false));
    } catch (error) {
      const failure = fileFailure(this.path, 'begin anew', error);
      // Until the new file has its name nothing has happened, and the old one can be gone on with.
      if (this.#stateNow()?.inode !== this.#current.inode) this.#failure ??= failure;
      throw failure;
    } finally {
      this.#isHeld = false;
      this.flush();
    }
  }

  /** Writes and syncs what is left, then lets go of the file. Nothing can be appended afterwards. */
  async close(): Promise<void> {
    this.flush();
    clearTimeout(this.#timer);
    const isWell = this.#failure === undefined;
    try {
      await this.#sync.idle();
      if (isWell && isSynced(this.#settings) && this.#synced < this.#end) await this.#sync.wait();
    } finally {
      this.#failure = new PolypodError(
        'conflict',
        `${basename(this.path)} is closed. Open it again to append.`,
      );
      this.#current.file.close();
    }
  }

  #nextBatch(): Batch {
    // Later in this turn than all callbacks of sockets and files, so that one write takes what they all bring.
    setImmediate(() => this.flush());
    return { records: [], written: undefined, durable: undefined };
  }

  #write(records: readonly string[]): void {
    const { file } = this.#current;
    try {
      this.#assertOurs();
      const bytes = sealRecords(records);
      try {
        appendFully(file, bytes);
      } catch (error) {
        this.#isCutDue = !cutBack(file, this.#end);
        throw error;
      }
      this.#end += bytes.length;
      // Had we been stopped before the write and taken over meanwhile, we must not say that it counts.
      this.#settings.guard();
    } catch (error) {
      this.#failure = fileFailure(this.path, 'append to', error);
    }
  }

  #assertOurs(): void {
    this.#settings.guard();
    if (this.#settings.isPrivate) return;
    const state = this.#stateNow();
    if (state?.inode === this.#current.inode && state.size === this.#end) return;
    throw new PolypodError(
      'conflict',
      `${basename(this.path)}: changed by another program. Fork the session to go on, or open it again with the changes.`,
    );
  }

  #stateNow(): FileState | undefined {
    return this.#settings.files.stat(this.path);
  }

  #acknowledge({ written, durable }: Batch): void {
    written?.resolve();
    if (durable === undefined) return;
    const { durability, syncWithinMs } = this.#settings;
    if (durability === 'full') return durable.resolve(this.#sync.wait());
    if (durability === 'relaxed') this.#timer ??= setTimeout(() => this.#syncLate(), syncWithinMs);
    durable.resolve();
  }

  #syncLate(): void {
    this.#timer = undefined;
    // A failure is told to the next append; these ones have been answered.
    this.#sync.wait().catch(() => {});
  }

  async #syncNow(): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure;
    const { file } = this.#current;
    const end = this.#end;
    try {
      await file.sync();
    } catch (error) {
      doubt(this.#settings.files, this.path, this.#synced);
      this.#failure ??= fileFailure(this.path, 'append to', error);
      throw this.#failure;
    }
    if (file === this.#current.file) this.#synced = end;
  }

  /** Makes good what the failure left behind, as long as the file is still the one we wrote to. */
  #rescue(): void {
    const { files } = this.#settings;
    try {
      const state = this.#stateNow();
      if (state?.inode !== this.#current.inode || state.size < this.#end) return;
      if (this.#isCutDue) cutFile(files, this.path, this.#end);
      this.#isCutDue = false;
    } catch (error) {
      throw fileFailure(this.path, 'open', error);
    }
  }

  #use(opened: LogFile): void {
    this.#current.file.close();
    this.#current = opened;
    this.#end = opened.end;
    this.#synced = opened.end;
  }
}

function notARecord(): PolypodError {
  return new PolypodError(
    'internal',
    'a record of a log is the JSON text of one object with a key, on one line',
  );
}

function refuse({ written, durable }: Batch, failure: PolypodError): void {
  written?.reject(failure);
  durable?.reject(failure);
}
