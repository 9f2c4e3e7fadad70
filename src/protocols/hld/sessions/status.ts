import type { Row } from '../../../pod/index.ts';
import { notesIn } from './notes.ts';
import type { SessionDetail, SessionStatus } from '../wire.ts';

/** The phase of a session. There are more phases than statuses of the protocol. */
export type Phase = SessionStatus | SessionDetail;

/** Everything that determines the phase of a session. */
export interface PhaseInput extends Pick<Row, 'state' | 'lastRun' | 'queued' | 'annotations'> {
  readonly approvals: readonly unknown[];
  /** The run was cancelled and has not ended yet. */
  readonly isInterrupting: boolean;
  /** This process is launching it. */
  readonly isLaunching: boolean;
  /** It was closed before its first prompt. */
  readonly isClosed: boolean;
}

export function phaseOf(standing: PhaseInput): Phase {
  const { state, lastRun, approvals, isInterrupting } = standing;
  if (state === 'running' || state === 'waiting' || lastRun?.status === 'running') {
    if (isInterrupting) return 'interrupting';
    return state === 'waiting' || approvals.length > 0 ? 'waiting_input' : 'running';
  }
  if (state === 'paused') return approvals.length > 0 ? 'waiting_input' : 'paused';
  return lastRun === undefined ? beforeRuns(standing) : afterRun(lastRun.status);
}

/** Maps a phase to a status that every client knows, and to a detail that the status cannot express. */
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

/** Whether a session never received a prompt: lists contain it only on request. */
export function isUnused(phase: Phase): boolean {
  return phase === 'draft' || phase === 'discarded';
}

function afterRun(outcome: string): Phase {
  if (outcome === 'finished') return 'completed';
  return outcome === 'cancelled' ? 'interrupted' : 'failed';
}

function beforeRuns({ queued, annotations, isLaunching, isClosed }: PhaseInput): Phase {
  if (queued > 0) return 'starting';
  const notes = notesIn(annotations);
  if (notes === undefined) return isClosed ? 'discarded' : 'draft';
  return isLaunching && notes.error === undefined ? 'starting' : 'failed';
}

/** The error of a failed session. Never empty. */
export function errorOf({ lastRun, annotations }: Pick<PhaseInput, 'lastRun' | 'annotations'>): string {
  const error = lastRun === undefined ? notesIn(annotations)?.error : lastRun.message;
  if (error !== undefined && error.trim() !== '') return error;
  // The process ended during the run or the launch.
  if (lastRun === undefined || lastRun.status === 'interrupted') return RESTARTED;
  return `the run ended as ${lastRun.status}, and the provider gave no reason`;
}

const RESTARTED = 'daemon restarted while session was active';
