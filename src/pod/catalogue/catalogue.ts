import { basename } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { messageOf, PolypodError } from '../../base/index.ts';
import { acquireLock, type Files, type Lock, realFiles } from '../../store/index.ts';
import { CatalogueFile } from './catalogue-file.ts';
import type { Change } from './change.ts';
import { type Cursor, type Filter, type ListOptions, listed, newestFirst } from './list.ts';
import type { ApprovalRow, Row } from './row.ts';
import { found } from './search.ts';
import { Table } from './table.ts';

export interface CatalogueOptions {
  readonly files?: Files;
  /** The file could not be read or written. Told once, and again only when it was well in between. */
  readonly onFailure?: (error: PolypodError) => void;
  /** The file is written anew when it has so many lines more than two for each row. */
  readonly spareLines?: number;
}

/**
 * The index of all sessions of a data directory. All of it can be made again from the session files, so nothing of it is
 * worth a pod's failing: what cannot be written is kept in memory, told once, and tried again with the next change.
 *
 * Answers come from memory, and at once; `refresh` before them takes in what other processes wrote.
 */
export class Catalogue {
  readonly #path: string;
  readonly #files: Files;
  readonly #onFailure: (error: PolypodError) => void;
  readonly #spareLines: number;
  readonly #pending = new Map<string, Change>();
  #file: CatalogueFile | undefined;
  #table = new Table();
  /** Reading and writing, one after the other. */
  #turn: Promise<unknown> = Promise.resolve();
  #isWriteDue = false;
  #hasFailed = false;
  #isClosed = false;
  readonly #closing = new AbortController();
  /** After an attempt in vain the file is not written anew before it has so many lines. */
  #nextCompaction = 0;

  private constructor(path: string, options: CatalogueOptions) {
    this.#path = path;
    this.#files = options.files ?? realFiles;
    this.#onFailure = options.onFailure ?? (() => {});
    this.#spareLines = options.spareLines ?? 1000;
  }

  /** Reads the file. One that is missing is made by the first `put`; one of a newer version is refused. */
  static async open(path: string, options: CatalogueOptions = {}): Promise<Catalogue> {
    const catalogue = new Catalogue(path, options);
    try {
      await catalogue.#takeIn();
    } catch (error) {
      catalogue.#file?.close();
      throw failure(path, 'read', error);
    }
    return catalogue;
  }

  get size(): number {
    return this.#table.size;
  }

  /** How many lines of the file could not be read. */
  get badLines(): number {
    return this.#file?.badLines ?? 0;
  }

  get(id: string): Row | undefined {
    return this.#table.get(id);
  }

  byTask(taskId: string): Row | undefined {
    return this.#table.rows.find(({ tasks }) => tasks.some((task) => task.taskId === taskId));
  }

  /** Of several that were made under one key at once, the same one for everybody: the first. */
  byKey(key: string): Row | undefined {
    const made = this.#table.rows.filter((row) => row.key === key);
    return made.toSorted((one, other) => newestFirst(birthOf(one), birthOf(other))).at(-1);
  }

  /** All that have exactly this name: more than one means that it is ambiguous. */
  byName(name: string): readonly Row[] {
    return this.#table.named(name);
  }

  /** Those that changed last first. */
  list(options: ListOptions = {}): readonly Row[] {
    return listed(this.#table.rows, options);
  }

  search(text: string, filter: Filter = {}): readonly Row[] {
    return found(this.#table.rows, text, filter);
  }

  /** Those that wait longest first. */
  pendingApprovals(): readonly { readonly row: Row; readonly approval: ApprovalRow }[] {
    return this.#table.rows
      .flatMap((row) => row.approvals.map((approval) => ({ row, approval })))
      .toSorted((one, other) => (one.approval.requestedAt < other.approval.requestedAt ? -1 : 1));
  }

  /** Counts at once; all changes of one turn of the loop leave in one write. */
  put(row: Row): void {
    this.#change({ id: row.id, row, copied: false });
  }

  remove(id: string): void {
    this.#change({ id, row: undefined, copied: false });
  }

  /** Takes in what other processes wrote. What cannot be read leaves the rows as they are. */
  async refresh(): Promise<void> {
    if (this.#isClosed) return;
    await this.#inTurn(() => this.#takeIn()).then(
      () => {},
      (error) => this.#fail('read', error),
    );
  }

  /** Replaces everything by these rows; what any process puts from now on counts more. */
  async rebuild(rows: AsyncIterable<Row>): Promise<{ readonly rows: number }> {
    const table = new Table();
    let count = 0;
    try {
      const lock = await this.#patientLock();
      try {
        // While we have the lock nobody exchanges the file, so a place in it stays what it is.
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

  /** From now on a file that was removed stays removed: somebody deletes the data directory while the program ends. */
  beginClose(): void {
    this.#closing.abort();
  }

  /** Writes what is pending and lets go of the file. What is put afterwards stays in memory. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#write();
    this.#file?.close();
    this.#file = undefined;
  }

  #change(change: Change): void {
    this.#table.apply(change);
    this.#pending.set(change.id, change);
    if (this.#isWriteDue || this.#isClosed) return;
    this.#isWriteDue = true;
    // Later in this turn than all callbacks of sockets and files, so that one write takes what they all bring.
    setImmediate(() => void this.#write());
  }

  /** Never rejects. */
  #write(): Promise<void> {
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
    // The file was exchanged each time before we were done: with the lock nobody exchanges it.
    const lock = await this.#patientLock();
    try {
      while (this.#pending.size > 0) await this.#appendPending();
    } finally {
      lock.release();
    }
  }

  async #appendPending(): Promise<void> {
    const file = await this.#ready();
    // From here to the end nobody of this process comes in between.
    if (file.append([...this.#pending.values()])) this.#pending.clear();
  }

  /** The file, all of it read; it is made if there is none. Another may be in place by now, unless we have the lock. */
  async #ready(): Promise<CatalogueFile> {
    for (;;) {
      await this.#takeIn();
      if (this.#file !== undefined && this.#files.stat(this.#path) !== undefined) return this.#file;
      if (this.#file !== undefined) await this.#waitForRemoval();
      await CatalogueFile.create(this.#files, this.#path);
      // Had there been one, somebody took it away, and with it what only this process knows now.
      for (const row of this.#table.rows) this.#keep({ id: row.id, row, copied: false });
    }
  }

  /** Whoever removes the whole data directory may still be at it, and ends this program next. */
  async #waitForRemoval(): Promise<void> {
    const { signal } = this.#closing;
    await setTimeout(REMOVAL_MS, undefined, { signal, ref: false }).catch(() => {});
    if (signal.aborted) throw REMOVED;
  }

  #keep(change: Change): void {
    if (!this.#pending.has(change.id)) this.#pending.set(change.id, change);
  }

  async #takeIn(): Promise<void> {
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

  /** What is not written yet will be the last line of its id. */
  #applyAll(table: Table, changes: readonly Change[]): void {
    for (const change of changes) if (!this.#pending.has(change.id)) table.apply(change);
  }

  #isCompactionDue(): boolean {
    const lines = this.#file?.lines ?? 0;
    return lines > Math.max(2 * this.size + this.#spareLines, this.#nextCompaction);
  }

  async #compact(): Promise<void> {
    const lines = this.#file?.lines ?? 0;
    const lock = this.#lock();
    // One that fails is not tried again before there is twice as much; one that another process is at, soon.
    this.#nextCompaction = lock === undefined ? Math.min(lines + SOON, 2 * lines) : 2 * lines;
    if (lock === undefined) return;
    try {
      const file = await this.#ready();
      await file.exchange(this.#table.rows, file.end, lock);
      await this.#takeIn();
    } finally {
      lock.release();
    }
  }

  /** What was put before belongs to what is replaced. */
  async #startOfRebuild(): Promise<{ readonly file: CatalogueFile; readonly start: number }> {
    await this.#writePending();
    const file = await this.#ready();
    return { file, start: file.end };
  }

  async #finishRebuild(file: CatalogueFile, start: number, table: Table, lock: Lock): Promise<void> {
    const { changes, length } = await file.readFrom(start);
    for (const change of changes) table.apply(change);
    await file.exchange(table.rows, start + length, lock);
    await this.#takeIn();
  }

  #lock(): Lock | undefined {
    try {
      return acquireLock(this.#path, { files: this.#files });
    } catch (error) {
      if (error instanceof PolypodError && error.code === 'conflict') return undefined;
      throw error;
    }
  }

  async #patientLock(): Promise<Lock> {
    for (let attempts = 0; attempts < LOCK_ATTEMPTS; attempts += 1) {
      const lock = this.#lock();
      if (lock !== undefined) return lock;
      await setTimeout(LOCK_PAUSE_MS);
    }
    return acquireLock(this.#path, { files: this.#files });
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#turn.then(work);
    this.#turn = done.catch(() => {});
    return done;
  }

  #fail(wish: string, thrown: unknown): void {
    if (this.#hasFailed || thrown === REMOVED) return;
    this.#hasFailed = true;
    this.#onFailure(failure(this.#path, wish, thrown));
  }
}

function birthOf({ createdAt, id }: Row): Cursor {
  return { updatedAt: createdAt, id };
}

const REMOVAL_MS = 300;
/** There is nothing more to write to, and nobody to tell. */
const REMOVED = new PolypodError('not-found', 'the catalogue was removed while it was being closed');
/** To write a file anew takes milliseconds, to rebuild it as long as it takes to read all sessions. */
const SOON = 100;
const FREE_ATTEMPTS = 3;
const LOCK_ATTEMPTS = 200;
const LOCK_PAUSE_MS = 25;

function failure(path: string, wish: string, thrown: unknown): PolypodError {
  if (thrown instanceof PolypodError) return thrown;
  const message = `cannot ${wish} ${basename(path)}: ${messageOf(thrown)}. The sessions are not touched by it; put the cause right, and the next change is written again.`;
  return new PolypodError('internal', message, { cause: thrown });
}
