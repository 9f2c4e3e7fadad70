import { setTimeout as sleep } from 'node:timers/promises';
import { asPolypodError, isReaderTooSlow, PolypodError } from '../../base/index.ts';
import type { PodHandle } from '../../control/index.ts';
import type { Watched } from '../../pod/index.ts';
import type { PodLocation } from './pod-location.ts';

export interface ReconnectingWatchOptions {
  readonly signal: AbortSignal;
  /** Whether the pod can be reached: asked after it could not be. */
  readonly isUp: () => Promise<boolean>;
  /** How long it is tried to come back, and what it fails with then. */
  readonly ifLost: PodLocation['ifLost'];
  /** Told once when the pod cannot be reached, and once when it can again. */
  readonly onConnection: (state: 'lost' | 'back') => void;
}

/** How long to wait before each attempt to come back; the last goes on. */
const WAITS_MS = [100, 200, 400, 800, 1600, 3000];

/**
 * Everything that happens in a pod, in order and each event once, although the reader may be too slow or the daemon go away:
 * it goes on by number. Ends when the pod was closed or the signal fires; fails when there is no way back.
 */
export async function* reconnectingWatch(
  pod: PodHandle,
  { signal, isUp, ifLost, onConnection }: ReconnectingWatchOptions,
): AsyncGenerator<Watched> {
  let after: number | undefined;
  while (!signal.aborted) {
    try {
      for await (const watched of pod.watch({ signal, ...(after === undefined ? {} : { after }) })) {
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
    if (await isBack(isUp, ifLost.patienceMs, signal)) onConnection('back');
    else if (!signal.aborted) throw new PolypodError('unreachable', ifLost.ending(pod.id));
  }
}

/** Resolves once the pod can be reached; false when the signal fires before, or patience is at its end. */
async function isBack(
  isUp: () => Promise<boolean>,
  patienceMs: number,
  signal: AbortSignal,
): Promise<boolean> {
  const until = performance.now() + patienceMs;
  for (let tries = 0; !signal.aborted; tries += 1) {
    const left = until - performance.now();
    if (left <= 0) return false;
    const wait = WAITS_MS[Math.min(tries, WAITS_MS.length - 1)] ?? 0;
    await sleep(Math.min(wait, left), undefined, { signal }).catch(() => {});
    if (!signal.aborted && (await isUp())) return true;
  }
  return false;
}
