import type { Pod, PodEvent, Snapshot } from '../../../src/pod/index.ts';

/** No pod of these tests takes this long: it hangs. */
const PATIENCE_MS = 120_000;

/** What a watcher gets that comes back after a number: the events up to another one, or a snapshot in place of them. */
export async function logAfter(
  pod: Pod,
  after: number,
  until: number,
): Promise<{ readonly events: readonly PodEvent[]; readonly gap: Snapshot | undefined }> {
  const events: PodEvent[] = [];
  if (after >= until) return { events, gap: undefined };
  const signal = AbortSignal.timeout(PATIENCE_MS);
  for await (const watched of pod.watch({ after, signal })) {
    if (watched.type === 'snapshot') return { events, gap: watched.snapshot };
    events.push(...watched.batch.events.filter(({ seq }) => seq <= until));
    if (watched.batch.lastSeq >= until) return { events, gap: undefined };
  }
  throw new Error(`the events after ${after} end before ${until}`);
}

/** What the pod is like when nothing more happens by itself. */
export async function resting(pod: Pod): Promise<Snapshot> {
  const signal = AbortSignal.timeout(PATIENCE_MS);
  for await (const _ of pod.watch({ signal })) {
    const snapshot = await pod.snapshot();
    if (isResting(snapshot)) return snapshot;
  }
  throw new Error('it does not come to rest');
}

function isResting({ state, queue, shells, compacting }: Snapshot): boolean {
  if (shells.length > 0 || compacting) return false;
  if (state === 'idle') return !queue.some(({ lane }) => lane === 'prompt');
  return state === 'waiting' || state === 'paused';
}
