import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PolypodError } from '../../src/base/index.ts';
import { type AfterEnd, LastReceived, reconnectingStream, type StreamUpdate } from '../../src/wire/index.ts';

/** What a server does with one connection. */
interface Connection {
  /** Whether it is refused: then nothing else happens. */
  readonly isRefused: boolean;
  /** How many items before the requested one it sends again. */
  readonly repeated: number;
  readonly items: number;
  readonly end: 'cut' | 'closed' | 'too slow' | 'idle' | 'permanent';
  /** The delay that it requests. */
  readonly waitMs: number;
}

const PERMANENT = new PolypodError('denied', 'the key is revoked');
const COUNT = 12;
const GIVE_UP_AFTER_MS = 10_000;

const connection: fc.Arbitrary<Connection> = fc.record({
  isRefused: fc.boolean(),
  repeated: fc.nat(3),
  items: fc.nat(5),
  end: fc.oneof(
    { weight: 8, arbitrary: fc.constantFrom('cut', 'closed', 'too slow', 'idle') },
    { weight: 1, arbitrary: fc.constant('permanent' as const) },
  ),
  waitMs: fc.oneof({ weight: 8, arbitrary: fc.nat(1) }, fc.constant(GIVE_UP_AFTER_MS + 1)),
});

/** A server with the items 1 to COUNT. After the schedule, it sends the rest without interruption. */
class ScheduledServer {
  readonly #schedule: Connection[];
  readonly requested: (number | undefined)[] = [];

  constructor(schedule: readonly Connection[]) {
    this.#schedule = [...schedule];
  }

  async open(after = 0): Promise<AsyncIterable<number>> {
    this.requested.push(after);
    const next = this.#schedule.shift() ?? LAST;
    if (next.isRefused) throw new ConnectionEnd(next);
    return this.#items(after, next);
  }

  async *#items(after: number, next: Connection): AsyncGenerator<number> {
    const from = Math.max(1, after + 1 - next.repeated);
    const to = Math.min(COUNT, after + next.items);
    for (let item = from; item <= to; item += 1) yield item;
    if (next.end !== 'closed') throw new ConnectionEnd(next);
  }
}

const LAST: Connection = { isRefused: false, repeated: 0, items: COUNT, end: 'closed', waitMs: 0 };

class ConnectionEnd extends Error {
  readonly connection: Connection;

  constructor(ended: Connection) {
    super(ended.end);
    this.connection = ended;
  }
}

function afterEnd(failure: { readonly error: unknown } | undefined): AfterEnd {
  if (failure === undefined) return { type: 'lost' };
  if (!(failure.error instanceof ConnectionEnd)) return { type: 'fail', error: failure.error };
  const { end, isRefused, waitMs } = failure.error.connection;
  if (end === 'permanent') return { type: 'fail', error: PERMANENT };
  if (!isRefused && end === 'too slow') return { type: 'reopen' };
  if (!isRefused && end === 'idle') return { type: 'wait' };
  return { type: 'lost', error: new PolypodError('unreachable', end), waitMs };
}

function streamFrom(server: ScheduledServer, attempts: number, signal = new AbortController().signal) {
  return reconnectingStream<number, number>({
    position: new LastReceived<number, number>(
      undefined,
      (item) => item,
      (item, after) => item <= after,
    ),
    open: (after) => server.open(after),
    afterEnd,
    isLast: (item) => item === COUNT,
    backoff: { firstMs: 0, maxMs: 0 },
    attempts,
    giveUpAfterMs: GIVE_UP_AFTER_MS,
    gaveUp: (error) => new PolypodError('unreachable', `gave up: ${error?.message}`),
    signal,
  });
}

async function collect(updates: AsyncIterable<StreamUpdate<number>>) {
  const all: StreamUpdate<number>[] = [];
  try {
    for await (const update of updates) all.push(update);
    return { all, error: undefined };
  } catch (thrown) {
    return { all, error: thrown };
  }
}

/** The number of items that arrive, and the error after them, computed from the schedule alone. */
function expectation(schedule: readonly Connection[], attempts: number) {
  let [received, failed] = [0, 0];
  for (const { isRefused, items, end, waitMs } of [...schedule, LAST]) {
    if (!isRefused) {
      failed = 0;
      received = Math.min(COUNT, received + items);
      if (received === COUNT) break;
    }
    if (end === 'permanent') return { received, error: PERMANENT.message };
    if (!isRefused && (end === 'too slow' || end === 'idle')) continue;
    failed += 1;
    const isClosed = !isRefused && end === 'closed';
    const why = isClosed ? undefined : end;
    if (failed > attempts || (!isClosed && waitMs > GIVE_UP_AFTER_MS))
      return { received, error: `gave up: ${why}` };
  }
  return { received: COUNT, error: undefined };
}

describe('a reconnecting stream', () => {
  it('delivers every item once and in order, or ends with its error, for any schedule of connections', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(connection, { maxLength: 12 }),
        fc.oneof(fc.nat(3), fc.constant(Number.POSITIVE_INFINITY)),
        async (schedule, attempts) => {
          const server = new ScheduledServer(schedule);
          const { all, error } = await collect(streamFrom(server, attempts));
          const expected = expectation(schedule, attempts);
          const items = all.flatMap((update) => (update.type === 'item' ? [update.item] : []));
          expect(items).toEqual(Array.from({ length: expected.received }, (_, index) => index + 1));
          expect(error instanceof PolypodError ? error.message : error).toBe(expected.error);
          // Lost and restored alternate, and no item arrives while the connection is lost.
          let isLost = false;
          for (const { type } of all) {
            expect(type === 'lost' ? isLost : type === 'restored' ? !isLost : isLost).toBe(false);
            isLost = type === 'lost' || (isLost && type !== 'restored');
          }
          // Each connection continues after the last item.
          const sorted = server.requested.toSorted((one, other) => (one ?? 0) - (other ?? 0));
          expect(server.requested).toEqual(sorted);
        },
      ),
      { numRuns: 300 },
    );
  });

  it('ends without an error when it is aborted, at any update', async () => {
    const cuts = Array.from({ length: 4 }, (): Connection => ({ ...LAST, items: 1, end: 'cut' }));
    const { all: uninterrupted } = await collect(streamFrom(new ScheduledServer(cuts), 1));
    for (const at of uninterrupted.keys()) {
      if (at === uninterrupted.length - 1) continue;
      const stop = new AbortController();
      const updates = streamFrom(new ScheduledServer(cuts), 1, stop.signal);
      for (let left = at + 1; left > 0; left -= 1) await updates.next();
      stop.abort();
      const { all, error } = await collect(updates);
      expect(error).toBeUndefined();
      expect(all.filter(({ type }) => type === 'lost')).toEqual([]);
    }
  });

  it('gives up when the time is over, after a last attempt', async () => {
    let opened = 0;
    const updates = reconnectingStream<number, number>({
      position: new LastReceived<number, number>(undefined, (item) => item),
      open: async () => {
        opened += 1;
        throw new Error('refused');
      },
      afterEnd: () => ({ type: 'lost' }),
      backoff: { firstMs: 60_000, maxMs: 60_000 },
      giveUpAfterMs: 5,
      gaveUp: (_, elapsedMs) => new PolypodError('unreachable', elapsedMs < 30_000 ? 'gave up' : 'too late'),
      signal: new AbortController().signal,
    });
    const { all, error } = await collect(updates);
    expect(error).toMatchObject({ message: 'gave up' });
    expect(all).toEqual([{ type: 'lost', error: undefined }]);
    expect(opened).toBeGreaterThan(1);
  });

  it('waits longer before each attempt after a connection without an item', async () => {
    const waits: number[] = [];
    let endedAt = performance.now();
    const updates = reconnectingStream<number, number>({
      position: new LastReceived<number, number>(undefined, (item) => item),
      open: async () => {
        waits.push(performance.now() - endedAt);
        return waits.length === 6 ? [COUNT] : [];
      },
      afterEnd: () => {
        endedAt = performance.now();
        return { type: 'wait' };
      },
      isLast: (item) => item === COUNT,
      backoff: { firstMs: 4, maxMs: 1_000 },
      gaveUp: () => new PolypodError('unreachable', 'gave up'),
      signal: new AbortController().signal,
    });
    expect((await collect(updates)).error).toBeUndefined();
    // The delays are at least half of 4, 8, 16, 32 and 64 ms. A timer may be early by a millisecond.
    for (const [index, wait] of waits.slice(1).entries())
      expect(wait).toBeGreaterThan(2 ** (index + 1) - 1.5);
  });
});
