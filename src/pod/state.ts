import type { PodState } from './event.ts';
import { openCallsIn } from './open-calls.ts';
import type { PodView } from './view.ts';

/** The one word for what a pod is doing. */
export function stateOf(view: PodView, isActive: boolean): PodState {
  const { run, lastRun, items } = view;
  const pending = view.approvals.pending();
  if (isActive) {
    const isAsked = pending.some(({ runId, podId }) => podId !== undefined || runId === run?.runId);
    return run !== undefined && isAsked ? 'waiting' : 'running';
  }
  const open = openCallsIn(items);
  if (open.some(({ callId }) => pending.some((approval) => approval.callId === callId))) return 'waiting';
  return open.length > 0 || lastRun?.outcome.status === 'paused' ? 'paused' : 'idle';
}
