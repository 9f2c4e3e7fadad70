import { asPolypodError, type PolypodError } from '../../base/index.ts';
import { Batch, type Numbered } from './batch.ts';
import { Watcher } from './watcher.ts';

/** Where events are written before anybody is told of them. */
export interface Journal<Fact> {
  /** Resolves when the events are written, and synced if they are durable. */
  readonly append: (events: readonly Numbered<Fact>[], durable: boolean) => Promise<void>;
  /** All that is written after a number, in order. Rejects with `not-found` when it is no longer kept. */
  readonly read: (after: number) => AsyncIterable<readonly Numbered<Fact>[]>;
}

export interface FeedOptions<Fact> {
  readonly journal: Journal<Fact>;
  /** The number of the last event that was ever given out. */
  readonly lastSeq: number;
  /** How many events may wait for a watcher before it is cut off. */
  readonly watcherLimit: number;
  /** The journal can no longer be written; nothing more is published. */
  readonly onFailure: (error: PolypodError) => void;
}

/** One session's numbered stream of events: numbered, written, then told, in one order for everybody. */
export class Feed<Fact extends object> {
  readonly #options: FeedOptions<Fact>;
  readonly #watchers = new Set<Watcher<Fact>>();
  #lastSeq: number;
  /** The last event that watchers have been told of. */
  #toldSeq: number;
  #failure: PolypodError | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(options: FeedOptions<Fact>) {
    this.#options = options;
    this.#lastSeq = options.lastSeq;
    this.#toldSeq = options.lastSeq;
  }

  get lastSeq(): number {
    return this.#lastSeq;
  }

  get watchers(): number {
    return this.#watchers.size;
  }

  /** Numbers the events at once; resolves when they are written and told. Rejects when they could not be written. */
  async publish(facts: readonly Fact[], durable: boolean): Promise<readonly Numbered<Fact>[]> {
    if (this.#failure !== undefined) throw this.#failure;
    const events = facts.map((fact) => ({ ...fact, seq: ++this.#lastSeq }));
    const written = this.#options.journal.append(events, durable);
    // Told in the order of their numbers, whatever the order in which the journal answers.
    const told = this.#writing.then(() => written).then(() => this.#tell(new Batch(events)));
    this.#writing = told.catch((thrown: unknown) => this.#fail(thrown));
    await told;
    return events;
  }

  /**
   * Everything after a number, from the journal and then as it happens, each event once. Ends when the feed is closed or
   * the signal fires; rejects with `overloaded` when the reader falls behind.
   */
  async *watch(after: number, signal: AbortSignal): AsyncGenerator<Batch<Fact>> {
    const watcher = new Watcher<Fact>(this.#options.watcherLimit, after);
    const leave = (): void => watcher.close();
    signal.addEventListener('abort', leave, { once: true });
    // Registered before the journal is read: what is told meanwhile waits, so that nothing falls in between.
    const missed = this.#toldSeq;
    this.#watchers.add(watcher);
    try {
      if (after < missed) yield* this.#past(after, missed, watcher);
      for (let batch = await watcher.next(); batch !== undefined; batch = await watcher.next()) {
        if (signal.aborted) return;
        yield batch;
      }
    } finally {
      signal.removeEventListener('abort', leave);
      this.#watchers.delete(watcher);
    }
  }

  /** Waits for what is being written, then ends all watchers. */
  async close(): Promise<void> {
    await this.#writing;
    for (const watcher of this.#watchers) watcher.close();
  }

  async *#past(after: number, until: number, watcher: Watcher<Fact>): AsyncGenerator<Batch<Fact>> {
    for await (const events of this.#options.journal.read(after)) {
      const batch = new Batch(events.filter(({ seq }) => seq > after && seq <= until));
      if (batch.events.length === 0 || !watcher.isOpen) continue;
      watcher.skipTo(batch.lastSeq);
      yield batch;
    }
    watcher.skipTo(until);
  }

  #tell(batch: Batch<Fact>): void {
    if (batch.events.length === 0) return;
    this.#toldSeq = batch.lastSeq;
    for (const watcher of this.#watchers) watcher.push(batch);
  }

  #fail(thrown: unknown): void {
    if (this.#failure !== undefined) return;
    this.#failure = asPolypodError(thrown);
    this.#options.onFailure(this.#failure);
  }
}
