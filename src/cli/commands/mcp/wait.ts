import { type JsonObject, PolypodError } from '../../../base/index.ts';
import type { Snapshot } from '../../../pod/index.ts';
import { podState, type WaitEnd } from './encode.ts';
import type { UsedPod } from './pods.ts';

export interface WaitOptions {
  readonly timeoutMs: number;
  /** Aborts when the client cancels the call. The run continues. */
  readonly signal: AbortSignal;
  readonly progress: (message: string) => void;
}

/** Waits until a pod is idle, paused, or needs an approval, or until the time is up. */
export async function waitForPod(
  pod: UsedPod,
  { timeoutMs, signal, progress }: WaitOptions,
): Promise<JsonObject> {
  const timeout = AbortSignal.timeout(timeoutMs);
  const until = AbortSignal.any([signal, timeout]);
  for (;;) {
    const snapshot = await nextStop(pod, until, progress);
    signal.throwIfAborted();
    if (snapshot === undefined) return podState(await snapshotNow(pod), 'timeout');
    const end = stopIn(snapshot);
    if (end !== undefined) return podState(snapshot, end);
  }
}

/** The state of a pod now, as a wait reports it; undefined if a wait would continue. */
export async function finishedWait(pod: UsedPod): Promise<JsonObject | undefined> {
  const snapshot = await snapshotNow(pod);
  const end = stopIn(snapshot);
  return end === undefined ? undefined : podState(snapshot, end);
}

/** Resolves with the snapshot of a pod that may have stopped; undefined if the signal aborted. */
async function nextStop(
  pod: UsedPod,
  signal: AbortSignal,
  progress: (message: string) => void,
): Promise<Snapshot | undefined> {
  for await (const watched of pod.watch({ signal })) {
    if (watched.type === 'snapshot') {
      if (stopIn(watched.snapshot) !== undefined) return watched.snapshot;
      progress(`turn ${watched.snapshot.turn}`);
      continue;
    }
    for (const event of watched.batch.events) {
      if (event.type === 'tool-start') progress(`runs ${event.call.name}`);
      if (event.type === 'turn-start') progress(`turn ${event.turn}`);
      const mayHaveStopped =
        event.type === 'approval-request' ||
        event.type === 'closed' ||
        (event.type === 'state' && event.state !== 'running');
      if (mayHaveStopped) return snapshotNow(pod);
    }
  }
  return signal.aborted ? undefined : snapshotNow(pod);
}

async function snapshotNow(pod: UsedPod): Promise<Snapshot> {
  const leave = new AbortController();
  try {
    for await (const watched of pod.watch({ signal: leave.signal }))
      if (watched.type === 'snapshot') return watched.snapshot;
  } finally {
    leave.abort();
  }
  throw new PolypodError('conflict', 'the session was closed: send a prompt to open it again');
}

function stopIn({ state, approvals, queue }: Snapshot): WaitEnd | undefined {
  if (approvals.length > 0) return 'approval';
  if (state === 'paused') return 'paused';
  return state === 'idle' && queue.length === 0 ? 'idle' : undefined;
}
