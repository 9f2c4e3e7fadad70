import { onAbort } from '../../base/index.ts';
import type { Pod } from '../../pod/index.ts';
import type { Link, Receiver } from './link.ts';
import type { PodDoor } from './pod-door.ts';
import { type BatchFacts, UnreadBatches } from './unread-batches.ts';
import type { WireEvent, WireRequest } from './wire.ts';

export interface PodEventsOptions {
  readonly signal: AbortSignal;
  /** Requests to send first: `subscribe`, for the extensions or to resume. */
  readonly first?: readonly WireRequest[];
  /** The name that other clients see as the sender of its requests. */
  readonly name?: string;
  /** The maximum number of unread events. */
  readonly limit?: number;
}

const FACTS: BatchFacts<readonly WireEvent[]> = {
  size: (events) => events.length,
  lastSeq: (events) => events.findLast(({ seq }) => seq !== undefined)?.seq,
};

/** A pod's events for `for await`. Ends with the pod or the signal; throws `overloaded` when the reader is too slow. */
export async function* podEvents(
  door: PodDoor,
  pod: Pod,
  { signal, first = [], name = 'program', limit = 100_000 }: PodEventsOptions,
): AsyncGenerator<WireEvent> {
  const unread = new UnreadBatches(limit, FACTS);
  const receiver: Receiver = {
    take: ({ events }) => unread.push(events),
    // The queue limits events, not bytes.
    pending: () => 0,
    drained: () => unread.drained(),
    close: () => unread.end(),
  };
  const link = await door.open(pod, receiver, { by: name, pendingBytes: 0 });
  const forget = onAbort(signal, () => unread.end());
  try {
    // Past events are read while they are sent: there can be more of them than the limit.
    sendAll(link, first).catch((thrown: unknown) => unread.fail(thrown));
    for (let batches = unread.take(); batches !== undefined; batches = unread.take()) {
      for (const events of batches) yield* events;
      if (batches.length === 0) await unread.more();
    }
  } finally {
    forget();
    unread.end();
    link.leave();
  }
}

async function sendAll(link: Link, requests: readonly WireRequest[]): Promise<void> {
  for (const request of requests) await link.call({ ...request });
}
