import { onAbort, PolypodError } from '../../base/index.ts';
import type { Pod } from '../../pod/index.ts';
import type { PodDoor } from './door.ts';
import { PodListener } from './pod-listener.ts';
import type { WireEvent, WireRequest } from './wire.ts';

export interface PodEventsOptions {
  readonly signal: AbortSignal;
  /** Lines that are sent before anything else: `subscribe`, to have the extras or to resume. */
  readonly first?: readonly WireRequest[];
  readonly by?: string;
  /** Events that may wait for the reader. */
  readonly limit?: number;
}

/** A pod's events for `for await`. Ends with the pod or the signal; throws `overloaded` when the reader is too slow. */
export async function* podEvents(
  door: PodDoor,
  pod: Pod,
  { signal, first = [], by = 'program', limit = 100_000 }: PodEventsOptions,
): AsyncGenerator<WireEvent> {
  const waiting = new Waiting(limit);
  const onEnd = (): void => waiting.end();
  const listener = await PodListener.join(door, pod, (event) => waiting.push(event), { by, onEnd });
  const forget = onAbort(signal, onEnd);
  try {
    for (const line of first) await listener.request(line);
    for (let events = await waiting.take(); events !== undefined; events = await waiting.take())
      yield* events;
  } finally {
    forget();
    listener.leave();
  }
}

/** What was heard and not yet read. Past its bound it is let go of, and the reader told where to go on. */
class Waiting {
  readonly #limit: number;
  #events: WireEvent[] = [];
  #readSeq = 0;
  #end: 'open' | 'over' | 'behind' = 'open';
  #wake = (): void => {};

  constructor(limit: number) {
    this.#limit = limit;
  }

  push(event: WireEvent): void {
    if (this.#end !== 'open') return;
    this.#events.push(event);
    if (this.#events.length > this.#limit) [this.#events, this.#end] = [[], 'behind'];
    this.#wake();
  }

  end(): void {
    if (this.#end === 'open') this.#end = 'over';
    this.#wake();
  }

  /** All that waits; undefined when there is no more. */
  async take(): Promise<readonly WireEvent[] | undefined> {
    while (this.#events.length === 0) {
      if (this.#end === 'over') return undefined;
      if (this.#end === 'behind')
        throw new PolypodError(
          'overloaded',
          `more than ${this.#limit} events were waiting to be read: subscribe after ${this.#readSeq}`,
        );
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    const events = this.#events;
    this.#events = [];
    this.#readSeq = events.findLast(({ seq }) => seq !== undefined)?.seq ?? this.#readSeq;
    return events;
  }
}
