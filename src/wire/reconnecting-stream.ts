import type { PolypodError } from '../base/index.ts';
import { type Backoff, waitBeforeAttempt } from './backoff.ts';

/** Where a stream continues after a lost connection. */
export interface StreamPosition<Item, Cursor> {
  /** The last item that was received; undefined for the start of the stream. */
  readonly after: Cursor | undefined;
  /** Called before a connection is opened after that item. */
  startConnection(): void;
  /** Records an item. Returns what of it is new; undefined if it was received before. */
  accept(item: Item): Item | undefined;
}

/** What follows the end of a connection. */
export type AfterEnd =
  /** The stream is complete. */
  | { readonly type: 'end' }
  /** A permanent error, which ends the stream. */
  | { readonly type: 'fail'; readonly error: unknown }
  /** The connection is replaced at once: only its reader was too slow. */
  | { readonly type: 'reopen' }
  /** The server works, but has no more items now: the connection is opened again after a delay. */
  | { readonly type: 'wait' }
  /** The connection is lost, and opened again after a delay of at least `waitMs`, if the server requested one. */
  | { readonly type: 'lost'; readonly error?: PolypodError; readonly waitMs?: number };

export interface ReconnectingStreamOptions<Item, Cursor> {
  readonly position: StreamPosition<Item, Cursor>;
  /** Opens a connection with the items after the cursor. Rejects if that fails. */
  readonly open: (after: Cursor | undefined) => Promise<AsyncIterable<Item> | Iterable<Item>>;
  /** Decides what follows an error of `open` or of a connection, or the end of a connection without an error. */
  readonly afterEnd: (failure: { readonly error: unknown } | undefined) => AfterEnd;
  /** Whether the stream is complete after this item. */
  readonly isLast?: (item: Item) => boolean;
  readonly backoff: Backoff;
  /** The number of consecutive failed attempts to reconnect before the stream gives up; default: no limit. */
  readonly attempts?: number;
  /** How long the connection may be lost before the stream gives up; default: no limit. */
  readonly giveUpAfterMs?: number;
  /** Creates the error with which the stream gives up, from the last `error` of `afterEnd`. */
  readonly gaveUp: (error: PolypodError | undefined, elapsedMs: number) => PolypodError;
  /** Ends the stream without an error. */
  readonly signal: AbortSignal;
}

/** `lost` is sent once for each lost connection, and `restored` once before the next item. */
export type StreamUpdate<Item> =
  | { readonly type: 'item'; readonly item: Item }
  | { readonly type: 'lost'; readonly error: PolypodError | undefined }
  | { readonly type: 'restored' };

/**
 * A stream of items that continues across connections: yields each item once and in order, and opens a new connection after the
 * last item when one ends. It ends after the last item, with a permanent error, or when it gives up.
 */
export async function* reconnectingStream<Item, Cursor>({
  position,
  open,
  afterEnd,
  isLast = () => false,
  backoff,
  attempts = Number.POSITIVE_INFINITY,
  giveUpAfterMs = Number.POSITIVE_INFINITY,
  gaveUp,
  signal,
}: ReconnectingStreamOptions<Item, Cursor>): AsyncGenerator<StreamUpdate<Item>> {
  let lostAt: number | undefined;
  let failedAttempts = 0;
  /** The number of delays since a connection was useful. */
  let delays = 0;
  while (!signal.aborted) {
    let next: AfterEnd;
    let openedAt: number | undefined;
    try {
      position.startConnection();
      const items = await open(position.after);
      openedAt = performance.now();
      const wasLost = lostAt !== undefined;
      [lostAt, failedAttempts] = [undefined, 0];
      if (wasLost) yield { type: 'restored' };
      for await (const received of items) {
        const item = position.accept(received);
        if (item === undefined) continue;
        delays = 0;
        yield { type: 'item', item };
        if (isLast(item)) return;
      }
      next = afterEnd(undefined);
    } catch (thrown) {
      next = afterEnd({ error: thrown });
    }
    if (next.type === 'fail') throw next.error;
    if (next.type === 'end' || signal.aborted) return;
    if (next.type === 'reopen') continue;
    const now = performance.now();
    // A server that accepts connections and ends them at once is not asked more and more often.
    if (openedAt !== undefined && now - openedAt > backoff.maxMs) delays = 0;
    let [minMs, maxMs] = [0, Number.POSITIVE_INFINITY];
    if (next.type === 'lost') {
      const { error, waitMs = 0 } = next;
      if (lostAt === undefined) yield { type: 'lost', error };
      lostAt ??= now;
      failedAttempts += 1;
      const elapsedMs = now - lostAt;
      if (failedAttempts > attempts || elapsedMs + waitMs > giveUpAfterMs) throw gaveUp(error, elapsedMs);
      [minMs, maxMs] = [waitMs, giveUpAfterMs - elapsedMs];
    }
    await waitBeforeAttempt(backoff, delays, signal, { minMs, maxMs });
    delays += 1;
  }
}

/** The position after the last item that has a cursor. */
export class LastReceived<Item, Cursor> implements StreamPosition<Item, Cursor> {
  readonly #cursorOf: (item: Item) => Cursor | undefined;
  readonly #isRepeated: (item: Item, after: Cursor) => boolean;
  #after: Cursor | undefined;

  constructor(
    after: Cursor | undefined,
    cursorOf: (item: Item) => Cursor | undefined,
    isRepeated: (item: Item, after: Cursor) => boolean = () => false,
  ) {
    this.#after = after;
    this.#cursorOf = cursorOf;
    this.#isRepeated = isRepeated;
  }

  get after(): Cursor | undefined {
    return this.#after;
  }

  startConnection(): void {}

  accept(item: Item): Item | undefined {
    if (this.#after !== undefined && this.#isRepeated(item, this.#after)) return undefined;
    this.#after = this.#cursorOf(item) ?? this.#after;
    return item;
  }
}
