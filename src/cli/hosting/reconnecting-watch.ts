import { asPolypodError, isReaderTooSlow, PolypodError, withoutUndefined } from '../../base/index.ts';
import type { PodHandle } from '../../control/index.ts';
import type { WatchItem } from '../../pod/index.ts';
import { type AfterEnd, LastReceived, reconnectingStream } from '../../wire/index.ts';
import type { PodLocation } from './pod-location.ts';

export interface ReconnectingWatchOptions {
  readonly signal: AbortSignal;
  /** Whether the pod is reachable; called after the connection was lost. */
  readonly isUp: () => Promise<boolean>;
  /** How long to try to reconnect, and the error if that fails. */
  readonly ifLost: PodLocation['ifLost'];
  /** Called once when the connection is lost, and once when it is restored. */
  readonly onConnection: (state: 'lost' | 'back') => void;
}

const BACKOFF = { firstMs: 100, maxMs: 3_000 };

/**
 * Yields every event of a pod, in order and once, even if the reader is slow or the daemon restarts: it resumes after the last
 * event number. Ends when the pod is closed or the signal aborts. Throws if the connection cannot be restored.
 */
export async function* reconnectingWatch(
  pod: PodHandle,
  { signal, isUp, ifLost, onConnection }: ReconnectingWatchOptions,
): AsyncGenerator<WatchItem> {
  const position = new LastReceived<WatchItem, number>(undefined, lastSeq, isRepeated);
  const unreachable = new PolypodError('unreachable', ifLost.ending(pod.id));
  let isLost = false;
  const afterEnd = (failure: { readonly error: unknown } | undefined): AfterEnd => {
    if (failure === undefined || failure.error === unreachable) return { type: 'lost' };
    const { error } = failure;
    if (position.after === undefined) return { type: 'fail', error };
    if (isReaderTooSlow(error)) return { type: 'reopen' };
    return asPolypodError(error).code === 'unreachable' ? { type: 'lost' } : { type: 'fail', error };
  };
  const updates = reconnectingStream<WatchItem, number>({
    position,
    open: async (after) => {
      if (isLost && !(await isUp())) throw unreachable;
      return pod.watch({ signal, ...withoutUndefined({ after }) });
    },
    afterEnd,
    isLast: (item) => item.type === 'events' && item.batch.events.some(({ type }) => type === 'closed'),
    backoff: BACKOFF,
    giveUpAfterMs: ifLost.giveUpAfterMs,
    gaveUp: () => unreachable,
    signal,
  });
  for await (const update of updates) {
    if (update.type === 'item') {
      yield update.item;
      continue;
    }
    isLost = update.type === 'lost';
    onConnection(isLost ? 'lost' : 'back');
  }
}

function lastSeq(item: WatchItem): number {
  return item.type === 'snapshot' ? item.snapshot.seq : item.batch.lastSeq;
}

function isRepeated(item: WatchItem, after: number): boolean {
  return item.type === 'events' && item.batch.lastSeq <= after;
}
