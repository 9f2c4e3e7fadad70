import type { Approval, PodState } from '../event.ts';
import { type OpenCall, openCallsIn } from './open-calls.ts';
import type { PodView } from './view.ts';

/** The state of a pod. */
export function stateOf(view: PodView, isActive: boolean): PodState {
  const { run, lastRun, items } = view;
  const pending = view.approvals.pending();
  if (isActive) {
    const isAsked = pending.some(({ runId, podId }) => podId !== undefined || runId === run?.runId);
    // An approval from before a restart belongs to the run that this one continues.
    return run !== undefined && (isAsked || (pending.length > 0 && isAbout(pending, openCallsIn(items))))
      ? 'waiting'
      : 'running';
  }
  const open = openCallsIn(items);
  if (isAbout(pending, open)) return 'waiting';
  return open.length > 0 || lastRun?.outcome.status === 'paused' ? 'paused' : 'idle';
}

function isAbout(pending: readonly Approval[], open: readonly OpenCall[]): boolean {
  return open.some(({ callId }) => pending.some((approval) => approval.callId === callId));
}
