import { onAbort, PolypodError } from '../../base/index.ts';
import type { Pod } from '../../pod/index.ts';
import type { PodDoor } from './pod-door.ts';
import type { Link, Receiver } from './link.ts';
import type { WireEvent, WireRequest } from './wire.ts';

export interface PodEventsOptions {
  readonly signal: AbortSignal;
  /** Lines that are sent before anything else: `subscribe`, to have the extras or to resume. */
  readonly first?: readonly WireRequest[];
  /** The name that other clients see as the sender of what it does. */
  readonly name?: string;
  /** Events that may wait for the reader. */
  readonly limit?: number;
}

/** A pod's events for `for await`. Ends with the pod or the signal; throws `overloaded` when the reader is too slow. */
export async function* podEvents(
  door: PodDoor,
  pod: Pod,
  options: PodEventsOptions,
): AsyncGenerator<WireEvent> {
  for await (const events of podBatches(door, pod, options)) yield* events;
}

/** The same as they are told: lists of whole events. All who hear the pod live are given the very same lists. */
export async function* podBatches(
  door: PodDoor,
  pod: Pod,
  { signal, first = [], name = 'program', limit = 100_000 }: PodEventsOptions,
): AsyncGenerator<readonly WireEvent[]> {
  const waiting = new Waiting(limit);
  const receiver: Receiver = {
    take: ({ events }) => waiting.push(events),
    // What waits is counted in events, and here.
    pending: () => 0,
    drained: () => waiting.isRead(),
    close: () => waiting.end(),
  };
  const link = await door.open(pod, receiver, { by: name, pendingBytes: 0 });
  const forget = onAbort(signal, () => waiting.end());
  try {
    // What was before the reader's time is read while it is told: there may be more of it than may wait.
    askAll(link, first).catch((thrown: unknown) => waiting.fail(thrown));
    // Asked without waiting where something is there: every watcher of a busy pod comes by here, many times a second.
    for (let batches = waiting.take(); batches !== undefined; batches = waiting.take()) {
      for (const events of batches) yield events;
      if (batches.length === 0) await waiting.more();
    }
  } finally {
    forget();
    waiting.end();
    link.leave();
  }
}

async function askAll(link: Link, lines: readonly WireRequest[]): Promise<void> {
  for (const line of lines) await link.call({ ...line });
}

/** What was heard and not yet read. Past its bound it is let go of, and the reader told where to go on. */
class Waiting {
  readonly #limit: number;
  #batches: (readonly WireEvent[])[] = [];
  #size = 0;
  #readSeq = 0;
  #end: 'open' | 'over' | { readonly thrown: unknown } = 'open';
  #wakeReader = (): void => {};
  #wakeTeller = (): void => {};

  constructor(limit: number) {
    this.#limit = limit;
  }

  push(events: readonly WireEvent[]): void {
    if (this.#end !== 'open') return;
    this.#batches.push(events);
    this.#size += events.length;
    if (this.#size > this.#limit)
      this.fail(
        new PolypodError(
          'overloaded',
          `more than ${this.#limit} events were waiting to be read: subscribe after ${this.#readSeq}`,
        ),
      );
    this.#wakeReader();
  }

  /** Nothing more follows what waits. */
  end(): void {
    if (this.#end === 'open') this.#end = 'over';
    this.#wakeAll();
  }

  /** The reader is thrown this in place of what waits. */
  fail(thrown: unknown): void {
    this.#batches = [];
    this.#end = { thrown };
    this.#wakeAll();
  }

  /** All that waits, which may be nothing; undefined when nothing will. */
  take(): readonly (readonly WireEvent[])[] | undefined {
    const batches = this.#batches;
    if (batches.length === 0) {
      if (this.#end === 'over') return undefined;
      if (this.#end !== 'open') throw this.#end.thrown;
      return NONE;
    }
    [this.#batches, this.#size] = [[], 0];
    this.#readSeq = lastSeqIn(batches) ?? this.#readSeq;
    return batches;
  }

  /** Resolves when there is something to take, or nothing will be. */
  more(): Promise<void> {
    this.#wakeTeller();
    return new Promise((resolve) => {
      this.#wakeReader = resolve;
    });
  }

  /** Resolves when the reader wants more, or wants no more. */
  async isRead(): Promise<void> {
    while (this.#batches.length > 0 && this.#end === 'open')
      await new Promise<void>((resolve) => {
        this.#wakeTeller = resolve;
      });
  }

  #wakeAll(): void {
    this.#wakeReader();
    this.#wakeTeller();
  }
}

function lastSeqIn(batches: readonly (readonly WireEvent[])[]): number | undefined {
  for (const events of batches.toReversed()) {
    const last = events.findLast(({ seq }) => seq !== undefined);
    if (last !== undefined) return last.seq;
  }
  return undefined;
}

const NONE: readonly (readonly WireEvent[])[] = [];
