import type { RunOutcome } from '../../worker/index.ts';

/** How a run ended, in a few words. */
export function endText(outcome: RunOutcome): string {
  switch (outcome.status) {
    case 'finished':
      return 'the run is finished';
    case 'failed':
      return `the run failed: ${outcome.failure.message}`;
    case 'limited':
      return `the run was stopped: ${outcome.message}`;
    default:
      return `the run was ${outcome.status}`;
  }
}
