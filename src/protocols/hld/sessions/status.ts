import type { Row } from '../../../pod/index.ts';
import { notesIn } from './notes.ts';
import type { SessionDetail, SessionStatus } from '../wire.ts';

/** How a session stands. It has more values than the wire has statuses. */
export type Phase = SessionStatus | SessionDetail;

/** All of a session that its phase follows from. */
export interface Standing extends Pick<Row, 'state' | 'lastRun' | 'queued' | 'annotations'> {
  readonly approvals: readonly unknown[];
  /** Somebody has cancelled the run, and it has not ended yet. */
  readonly isInterrupting: boolean;
  /** It is being launched by this process. */
  readonly isLaunching: boolean;
  /** It was closed before anything was asked of it. */
  readonly isClosed: boolean;
}

export function phaseOf(standing: Standing): Phase {
  const { state, lastRun, approvals, isInterrupting } = standing;
  if (state === 'running' || state === 'waiting' || lastRun?.status === 'running') {
    if (isInterrupting) return 'interrupting';
    return state === 'waiting' || approvals.length > 0 ? 'waiting_input' : 'running';
  }
  if (state === 'paused') return approvals.length > 0 ? 'waiting_input' : 'paused';
  return lastRun === undefined ? beforeRuns(standing) : afterRun(lastRun.status);
}

/** The phase in the protocol's words: a status that every client knows, and beside it what that does not say. */
export function wireStatus(phase: Phase): {
  readonly status: SessionStatus;
  readonly detail?: SessionDetail;
} {
  switch (phase) {
    case 'draft':
      return { status: 'starting', detail: phase };
    case 'interrupting':
      return { status: 'running', detail: phase };
    case 'paused':
      return { status: 'waiting_input', detail: phase };
    case 'interrupted':
    case 'discarded':
      return { status: 'completed', detail: phase };
    default:
      return { status: phase };
  }
}

/** Whether a session was never asked anything: clients see it only if they ask for all. */
export function isUnused(phase: Phase): boolean {
  return phase === 'draft' || phase === 'discarded';
}

function afterRun(outcome: string): Phase {
  if (outcome === 'finished') return 'completed';
  return outcome === 'cancelled' ? 'interrupted' : 'failed';
}

function beforeRuns({ queued, annotations, isLaunching, isClosed }: Standing): Phase {
  if (queued > 0) return 'starting';
  const notes = notesIn(annotations);
  if (notes === undefined) return isClosed ? 'discarded' : 'draft';
  return isLaunching && notes.error === undefined ? 'starting' : 'failed';
}

/** Why a failed session failed: never nothing. */
export function errorOf({ lastRun, annotations }: Pick<Standing, 'lastRun' | 'annotations'>): string {
  const error = lastRun === undefined ? notesIn(annotations)?.error : lastRun.message;
  if (error !== undefined && error.trim() !== '') return error;
  // The process ended during the run, or during the launch.
  if (lastRun === undefined || lastRun.status === 'interrupted') return RESTARTED;
  return `the run ended as ${lastRun.status}, and the provider gave no reason`;
}

const RESTARTED = 'daemon restarted while session was active';
