import { PolypodError } from '../../../base/index.ts';
import type { PodHandle } from '../../../control/index.ts';
import type { Snapshot } from '../../../pod/index.ts';

/** Returns the current snapshot of a pod. */
export async function snapshotOf(pod: PodHandle): Promise<Snapshot> {
  for await (const watched of pod.watch()) if (watched.type === 'snapshot') return watched.snapshot;
  throw new PolypodError('conflict', 'the session was closed');
}
