import type { Row } from '../../pod/index.ts';
import { notesIn } from './notes.ts';
import type { SessionStatus } from './wire.ts';

/** All of a session that its status follows from. */
export interface Standing extends Pick<Row, 'state' | 'lastRun' | 'queued' | 'annotations'> {
  readonly approvals: readonly unknown[];
  /** Somebody has cancelled the run, and it has not ended yet. */
  readonly isInterrupting: boolean;
  /** It is being launched by this process. */
  readonly isLaunching: boolean;
  /** It was closed before anything was asked of it. */
  readonly isClosed: boolean;
}

export function statusOf(standing: Standing): SessionStatus {
  const { state, lastRun, approvals, isInterrupting } = standing;
  if (state === 'running' || state === 'waiting' || lastRun?.status === 'running') {
    if (isInterrupting) return 'interrupting';
    return state === 'waiting' || approvals.length > 0 ? 'waiting_input' : 'running';
  }
  if (state === 'paused') return 'waiting_input';
  return lastRun === undefined ? beforeRuns(standing) : afterRun(lastRun.status);
}

function afterRun(outcome: string): SessionStatus {
  if (outcome === 'finished') return 'completed';
  return outcome === 'cancelled' ? 'interrupted' : 'failed';
}

function beforeRuns({ queued, annotations, isLaunching, isClosed }: Standing): SessionStatus {
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
