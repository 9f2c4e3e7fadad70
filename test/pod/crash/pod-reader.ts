import type { Pod, PodEvent, Snapshot } from '../../../src/pod/index.ts';

/** Longer than any pod of these tests takes: it hangs. */
const PATIENCE_MS = 120_000;

/** What a watcher receives that resumes after a number: the events up to another one, or a snapshot instead. */
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

/** The state of the pod when nothing more happens. */
export async function idleSnapshot(pod: Pod): Promise<Snapshot> {
  const signal = AbortSignal.timeout(PATIENCE_MS);
  for await (const _ of pod.watch({ signal })) {
    const snapshot = await pod.snapshot();
    if (isIdle(snapshot)) return snapshot;
  }
  throw new Error('the pod does not become idle');
}

function isIdle({ state, queue, shells, compacting }: Snapshot): boolean {
  if (shells.length > 0 || compacting) return false;
  if (state === 'idle') return !queue.some(({ lane }) => lane === 'prompt');
  return state === 'waiting' || state === 'paused';
}
