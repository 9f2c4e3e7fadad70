import { onAbort, type PolypodError } from '../../base/index.ts';
import { EventBatch, type Numbered } from './batch.ts';
import { Watcher } from './watcher.ts';

/** Reads earlier events again. */
export interface EventHistory<Fact> {
  /** All events on disk after a number, in order. */
  readonly read: (after: number) => AsyncIterable<readonly Numbered<Fact>[]>;
}

/** Publishes written batches: every watcher receives every batch in the same order through its own bounded queue. */
export class Feed<Fact extends object> {
  readonly #past: EventHistory<Fact>;
  readonly #watcherLimit: number;
  readonly #watchers = new Set<Watcher<Fact>>();
  /** The number of the last event that watchers received. */
  #publishedSeq: number;
  #end: { readonly error: PolypodError | undefined } | undefined;

  constructor(past: EventHistory<Fact>, lastSeq: number, watcherLimit: number) {
    this.#past = past;
    this.#publishedSeq = lastSeq;
    this.#watcherLimit = watcherLimit;
  }

  get publishedSeq(): number {
    return this.#publishedSeq;
  }

  get watchers(): number {
    return this.#watchers.size;
  }

  publish(events: readonly Numbered<Fact>[]): void {
    const batch = new EventBatch(events);
    if (events.length === 0) return;
    this.#publishedSeq = batch.lastSeq;
    for (const watcher of this.#watchers) watcher.push(batch);
  }

  /**
   * Returns a watcher of all events after a number. Earlier events are read from the history first; later events are queued from
   * this call on, even before iteration starts. A caller that may never iterate must abort the signal.
   */
  watch(after: number, signal: AbortSignal): AsyncGenerator<EventBatch<Fact>> {
    const watcher = new Watcher<Fact>(this.#watcherLimit, after);
    // Registered before the history is read, so that no event is missed in between.
    const missed = this.#publishedSeq;
    if (this.#end === undefined) this.#watchers.add(watcher);
    else watcher.close(this.#end.error);
    const forget = onAbort(signal, () => this.#leave(watcher));
    return this.#follow(watcher, after, missed, { signal, forget });
  }

  /** Ends all watchers after their queued events, with an error if given. */
  end(error?: PolypodError): void {
    this.#end ??= { error };
    for (const watcher of this.#watchers) watcher.close(error);
    this.#watchers.clear();
  }

  async *#follow(
    watcher: Watcher<Fact>,
    after: number,
    missed: number,
    { signal, forget }: { readonly signal: AbortSignal; readonly forget: () => void },
  ): AsyncGenerator<EventBatch<Fact>> {
    try {
      if (after < missed) yield* this.#read(watcher, after, missed, signal);
      for (let batch = await watcher.next(); batch !== undefined; batch = await watcher.next()) {
        if (signal.aborted) return;
        yield batch;
      }
    } finally {
      forget();
      this.#leave(watcher);
    }
  }

  #leave(watcher: Watcher<Fact>): void {
    watcher.close();
    this.#watchers.delete(watcher);
  }

  async *#read(
    watcher: Watcher<Fact>,
    after: number,
    until: number,
    signal: AbortSignal,
  ): AsyncGenerator<EventBatch<Fact>> {
    for await (const events of this.#past.read(after)) {
      const batch = new EventBatch(events.filter(({ seq }) => seq > after && seq <= until));
      if (batch.events.length === 0) continue;
      // If the feed has ended, the history is still read to its end, and the queued events follow.
      if (signal.aborted) return;
      watcher.skipTo(batch.lastSeq);
      yield batch;
      // Checked after the yield, so that a reader that resumes makes progress even during a burst of events.
      if (watcher.isBehind) return;
    }
    watcher.skipTo(until);
  }
}
