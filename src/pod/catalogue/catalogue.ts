import { basename } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { messageOf, PolypodError } from '../../base/index.ts';
import { acquireLock, type Files, type Lock, realFiles } from '../../store/index.ts';
import { CatalogueFile } from './catalogue-file.ts';
import type { RowChange } from './change.ts';
import { type ListCursor, type Filter, type ListOptions, pageOfRows, newestFirst } from './list.ts';
import type { ApprovalRow, Row } from './row.ts';
import { found } from './search.ts';
import { Table } from './table.ts';

export interface CatalogueOptions {
  readonly files?: Files;
  /** Called when the file cannot be read or written: once, and again only after a success in between. */
  readonly onFailure?: (error: PolypodError) => void;
  /** The file is compacted when it has this many lines more than two per row. */
  readonly spareLines?: number;
}

/**
 * The index of all sessions of a data directory. It can be rebuilt from the session files, so its errors never fail a pod:
 * changes that cannot be written stay in memory, are reported once, and are retried with the next change.
 *
 * Queries are answered from memory; call `refresh` first to load what other processes wrote.
 */
export class Catalogue {
  readonly #path: string;
  readonly #files: Files;
  readonly #onFailure: (error: PolypodError) => void;
  readonly #spareLines: number;
  readonly #pending = new Map<string, RowChange>();
  #file: CatalogueFile | undefined;
  #table = new Table();
  /** Serializes reads and writes. */
  #turn: Promise<unknown> = Promise.resolve();
  #isWriteDue = false;
  /** The write of changes that are not urgent. */
  #laterWrite: NodeJS.Timeout | undefined;
  #hasFailed = false;
  #isClosed = false;
  readonly #closing = new AbortController();
  /** After a failed compaction, the number of lines at which to try again. */
  #nextCompaction = 0;

  private constructor(path: string, options: CatalogueOptions) {
    this.#path = path;
    this.#files = options.files ?? realFiles;
    this.#onFailure = options.onFailure ?? (() => {});
    this.#spareLines = options.spareLines ?? 1000;
  }

  /** Reads the file. The first `put` creates a missing one; a newer version is rejected. */
  static async open(path: string, options: CatalogueOptions = {}): Promise<Catalogue> {
    const catalogue = new Catalogue(path, options);
    try {
      await catalogue.#readNewLines();
    } catch (error) {
      catalogue.#file?.close();
      throw failure(path, 'read', error);
    }
    return catalogue;
  }

  get size(): number {
    return this.#table.size;
  }

  /** The number of unreadable lines. */
  get badLines(): number {
    return this.#file?.badLines ?? 0;
  }

  get(id: string): Row | undefined {
    return this.#table.get(id);
  }

  byTask(taskId: string): Row | undefined {
    return this.#table.rows.find(({ tasks }) => tasks.some((task) => task.taskId === taskId));
  }

  /** If several sessions were created concurrently under one key, returns the first, so that all callers get the same one. */
  byKey(key: string): Row | undefined {
    const made = this.#table.rows.filter((row) => row.key === key);
    return made.toSorted((one, other) => newestFirst(birthOf(one), birthOf(other))).at(-1);
  }

  /** All sessions with exactly this name; more than one means that the name is ambiguous. */
  byName(name: string): readonly Row[] {
    return this.#table.named(name);
  }

  /** Most recently changed first. */
  list(options: ListOptions = {}): readonly Row[] {
    return pageOfRows(this.#table.rows, options);
  }

  search(text: string, filter: Filter = {}): readonly Row[] {
    return found(this.#table.rows, text, filter);
  }

  /** Oldest request first. */
  pendingApprovals(): readonly { readonly row: Row; readonly approval: ApprovalRow }[] {
    return this.#table.rows
      .flatMap((row) => row.approvals.map((approval) => ({ row, approval })))
      .toSorted((one, other) => (one.approval.requestedAt < other.approval.requestedAt ? -1 : 1));
  }

  /**
   * Takes effect immediately. All changes of one event loop turn are written together; those that are not `urgent` wait up to
   * 250 ms for others.
   */
  put(row: Row, urgent = true): void {
    this.#change({ id: row.id, row, copied: false }, urgent);
  }

  remove(id: string): void {
    this.#change({ id, row: undefined, copied: false });
  }

  /** Loads what other processes wrote. If the file cannot be read, the rows stay unchanged. */
  async refresh(): Promise<void> {
    if (this.#isClosed) return;
    await this.#inTurn(() => this.#readNewLines()).then(
      () => {},
      (error) => this.#fail('read', error),
    );
  }

  /** Replaces all rows. Changes that any process makes from now on take precedence. */
  async rebuild(rows: AsyncIterable<Row>): Promise<{ readonly rows: number }> {
    const table = new Table();
    let count = 0;
    try {
      const lock = await this.#lockWithWait();
      try {
        // While this process holds the lock, the file is not replaced, so offsets stay valid.
        const { file, start } = await this.#inTurn(() => this.#startOfRebuild());
        for await (const row of rows) table.apply({ id: row.id, row, copied: true });
        count = table.size;
        await this.#inTurn(() => this.#finishRebuild(file, start, table, lock));
      } finally {
        lock.release();
      }
    } catch (error) {
      throw failure(this.#path, 'rebuild', error);
    }
    return { rows: count };
  }

  /** From now on, does not recreate a removed file: the data directory is being deleted while the program exits. */
  beginClose(): void {
    this.#closing.abort();
  }

  /** Writes pending changes and closes the file. Later changes stay in memory. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#write();
    this.#file?.close();
    this.#file = undefined;
  }

  #change(change: RowChange, urgent = true): void {
    this.#table.apply(change);
    this.#pending.set(change.id, change);
    if (this.#isWriteDue || this.#isClosed) return;
    if (!urgent) {
      this.#laterWrite ??= setTimeout(() => void this.#write(), WRITE_WITHIN_MS);
      return;
    }
    this.#isWriteDue = true;
    // Runs after all socket and file callbacks of this turn, so that one write contains all their changes.
    setImmediate(() => void this.#write());
  }

  /** Never rejects. */
  #write(): Promise<void> {
    clearTimeout(this.#laterWrite);
    this.#laterWrite = undefined;
    return this.#inTurn(async () => {
      this.#isWriteDue = false;
      await this.#writePending();
      if (this.#isCompactionDue()) await this.#compact();
      this.#hasFailed = false;
    }).catch((error) => this.#fail('write', error));
  }

  async #writePending(): Promise<void> {
    for (let attempts = 0; this.#pending.size > 0 && attempts < FREE_ATTEMPTS; attempts += 1)
      await this.#appendPending();
    if (this.#pending.size === 0) return;
    // The file was replaced during each attempt. While this process holds the lock, nobody replaces it.
    const lock = await this.#lockWithWait();
    try {
      while (this.#pending.size > 0) await this.#appendPending();
    } finally {
      lock.release();
    }
  }

  async #appendPending(): Promise<void> {
    const file = await this.#ready();
    // Synchronous from here on: nothing else in this process can run in between.
    if (file.append([...this.#pending.values()])) this.#pending.clear();
  }

  /**
   * Returns the file, read to its end, and creates it if missing. Without the lock, another file may already have replaced it.
   */
  async #ready(): Promise<CatalogueFile> {
    for (;;) {
      await this.#readNewLines();
      if (this.#file !== undefined && this.#files.stat(this.#path) !== undefined) return this.#file;
      if (this.#file !== undefined) await this.#waitForRemoval();
      await CatalogueFile.create(this.#files, this.#path);
      // If a file existed before, it was removed, together with rows that only this process still has.
      for (const row of this.#table.rows) this.#keep({ id: row.id, row, copied: false });
    }
  }

  /** A removal of the whole data directory may still be in progress, and may end this program next. */
  async #waitForRemoval(): Promise<void> {
    const { signal } = this.#closing;
    await delay(REMOVAL_MS, undefined, { signal, ref: false }).catch(() => {});
    if (signal.aborted) throw REMOVED;
  }

  #keep(change: RowChange): void {
    if (!this.#pending.has(change.id)) this.#pending.set(change.id, change);
  }

  async #readNewLines(): Promise<void> {
    if (this.#file?.isInPlace()) return this.#applyAll(this.#table, await this.#file.readOn());
    const file = CatalogueFile.open(this.#files, this.#path);
    if (file === undefined) return;
    try {
      const table = new Table();
      this.#applyAll(table, await file.readOn());
      for (const change of this.#pending.values()) table.apply(change);
      this.#table = table;
    } catch (error) {
      file.close();
      throw error;
    }
    this.#file?.close();
    this.#file = file;
    this.#nextCompaction = 0;
  }

  /** Skips changes to ids with pending changes: those will be written after them. */
  #applyAll(table: Table, changes: readonly RowChange[]): void {
    for (const change of changes) if (!this.#pending.has(change.id)) table.apply(change);
  }

  #isCompactionDue(): boolean {
    const lines = this.#file?.lines ?? 0;
    return lines > Math.max(2 * this.size + this.#spareLines, this.#nextCompaction);
  }

  async #compact(): Promise<void> {
    const lines = this.#file?.lines ?? 0;
    const lock = this.#lock();
    // After a failure, wait until the file has twice as many lines; if another process holds the lock, retry soon.
    this.#nextCompaction = lock === undefined ? Math.min(lines + SOON, 2 * lines) : 2 * lines;
    if (lock === undefined) return;
    try {
      const file = await this.#ready();
      await file.exchange(this.#table.rows, file.end, lock);
      await this.#readNewLines();
    } finally {
      lock.release();
    }
  }

  /** Writes earlier changes first, because the rebuild replaces them. */
  async #startOfRebuild(): Promise<{ readonly file: CatalogueFile; readonly start: number }> {
    await this.#writePending();
    const file = await this.#ready();
    return { file, start: file.end };
  }

  async #finishRebuild(file: CatalogueFile, start: number, table: Table, lock: Lock): Promise<void> {
    const { changes, length } = await file.readFrom(start);
    for (const change of changes) table.apply(change);
    await file.exchange(table.rows, start + length, lock);
    await this.#readNewLines();
  }

  #lock(): Lock | undefined {
    try {
      return acquireLock(this.#path, { files: this.#files });
    } catch (error) {
      if (error instanceof PolypodError && error.code === 'conflict') return undefined;
      throw error;
    }
  }

  async #lockWithWait(): Promise<Lock> {
    for (let attempts = 0; attempts < LOCK_ATTEMPTS; attempts += 1) {
      const lock = this.#lock();
      if (lock !== undefined) return lock;
      await delay(LOCK_PAUSE_MS);
    }
    return acquireLock(this.#path, { files: this.#files });
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#turn.then(work);
    this.#turn = done.catch(() => {});
    return done;
  }

  #fail(action: string, thrown: unknown): void {
    if (this.#hasFailed || thrown === REMOVED) return;
    this.#hasFailed = true;
    this.#onFailure(failure(this.#path, action, thrown));
  }
}

function birthOf({ createdAt, id }: Row): ListCursor {
  return { updatedAt: createdAt, id };
}

const WRITE_WITHIN_MS = 250;
const REMOVAL_MS = 300;
/** Not reported: the file to write to no longer exists. */
const REMOVED = new PolypodError('not-found', 'the catalogue was removed while it was being closed');
/** Compaction takes milliseconds; a rebuild takes as long as reading all sessions. */
const SOON = 100;
const FREE_ATTEMPTS = 3;
const LOCK_ATTEMPTS = 200;
const LOCK_PAUSE_MS = 25;

function failure(path: string, action: string, thrown: unknown): PolypodError {
  if (thrown instanceof PolypodError) return thrown;
  const message = `cannot ${action} ${basename(path)}: ${messageOf(thrown)}. The sessions are not affected. Fix the cause; the next change is written again.`;
  return new PolypodError('internal', message, { cause: thrown });
}
