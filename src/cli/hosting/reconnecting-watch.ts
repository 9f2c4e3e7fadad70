import { setTimeout as sleep } from 'node:timers/promises';
import { asPolypodError, isReaderTooSlow, PolypodError, withoutUndefined } from '../../base/index.ts';
import type { PodHandle } from '../../control/index.ts';
import type { WatchItem } from '../../pod/index.ts';
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

/** The delays between attempts to reconnect; the last one repeats. */
const WAITS_MS = [100, 200, 400, 800, 1600, 3000];

/**
 * Yields every event of a pod, in order and once, even if the reader is slow or the daemon restarts: it resumes after the last
 * event number. Ends when the pod is closed or the signal aborts. Throws if the connection cannot be restored.
 */
export async function* reconnectingWatch(
  pod: PodHandle,
  { signal, isUp, ifLost, onConnection }: ReconnectingWatchOptions,
): AsyncGenerator<WatchItem> {
  let after: number | undefined;
  while (!signal.aborted) {
    try {
      for await (const watched of pod.watch({ signal, ...withoutUndefined({ after }) })) {
        after = watched.type === 'snapshot' ? watched.snapshot.seq : watched.batch.lastSeq;
        yield watched;
        if (watched.type === 'events' && watched.batch.events.some(({ type }) => type === 'closed')) return;
      }
    } catch (thrown) {
      const isTooSlow = isReaderTooSlow(thrown);
      if (after === undefined || !(isTooSlow || asPolypodError(thrown).code === 'unreachable')) throw thrown;
      if (isTooSlow) continue;
    }
    if (signal.aborted) return;
    onConnection('lost');
    if (await isBack(isUp, ifLost.giveUpAfterMs, signal)) onConnection('back');
    else if (!signal.aborted) throw new PolypodError('unreachable', ifLost.ending(pod.id));
  }
}

/** Resolves when the pod is reachable; with false if the signal aborts or the time is over. */
async function isBack(
  isUp: () => Promise<boolean>,
  giveUpAfterMs: number,
  signal: AbortSignal,
): Promise<boolean> {
  const until = performance.now() + giveUpAfterMs;
  for (let tries = 0; !signal.aborted; tries += 1) {
    const left = until - performance.now();
    if (left <= 0) return false;
    const wait = WAITS_MS[Math.min(tries, WAITS_MS.length - 1)] ?? 0;
    await sleep(Math.min(wait, left), undefined, { signal }).catch(() => {});
    if (!signal.aborted && (await isUp())) return true;
  }
  return false;
}
