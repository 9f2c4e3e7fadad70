import { setTimeout as sleep } from 'node:timers/promises';
import { asPolypodError } from '../../base/index.ts';
import type { PodHandle } from '../../daemon/index.ts';
import type { Watched } from '../../pod/index.ts';

export interface SteadyOptions {
  readonly signal: AbortSignal;
  /** Whether the pod can be reached: asked after it could not be. */
  readonly isUp: () => Promise<boolean>;
  /** Told once when the pod cannot be reached, and once when it can again. */
  readonly onConnection: (state: 'lost' | 'back') => void;
}

/** How long to wait before each attempt to come back; the last goes on. */
const WAITS_MS = [100, 200, 400, 800, 1600, 3000];

/**
 * Everything that happens in a pod, in order and each event once, although the reader may be too slow or the daemon go away:
 * it goes on by number. Ends when the pod was closed or the signal fires.
 */
export async function* steadyWatch(
  pod: PodHandle,
  { signal, isUp, onConnection }: SteadyOptions,
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
      const { code } = asPolypodError(thrown);
      if (after === undefined || (code !== 'overloaded' && code !== 'provider-failed')) throw thrown;
      if (code === 'overloaded') continue;
    }
    if (signal.aborted) return;
    onConnection('lost');
    if (await isBack(isUp, signal)) onConnection('back');
  }
}

/** Resolves once the pod can be reached; false when the signal fires before. */
async function isBack(isUp: () => Promise<boolean>, signal: AbortSignal): Promise<boolean> {
  for (let tries = 0; !signal.aborted; tries += 1) {
    const wait = WAITS_MS[Math.min(tries, WAITS_MS.length - 1)];
    await sleep(wait, undefined, { signal }).catch(() => {});
    if (!signal.aborted && (await isUp())) return true;
  }
  return false;
}
