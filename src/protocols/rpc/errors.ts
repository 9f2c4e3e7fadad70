import { asPolypodError } from '../../base/index.ts';
import { isUnknownPod } from '../../pod/index.ts';

/** Messages that clients of the protocol know. */
export const TEXTS = {
  busy: 'Agent is already processing. Use steer() or followUp() to queue messages, or wait for completion.',
  emptyName: 'Session name cannot be empty',
  longName: 'Session name cannot be longer than 200 characters',
  smallSession: 'Nothing to compact (session too small)',
  compacted: 'Already compacted',
  compactionCancelled: 'Compaction cancelled',
  branchEntry: 'Invalid entry ID for branching',
  forkEntry: 'Invalid entry ID for forking',
  nothingToClone: 'Cannot clone session: no current entry selected',
  memoryExport: 'Cannot export in-memory session to HTML',
  removed: 'The session was removed. Start another one with new_session, or choose one with switch_session.',
  aborted: 'Request was aborted',
  retryCancelled: 'Retry cancelled',
  disconnected: 'RPC client disconnected before host tool execution completed',
  hostToolFailed: 'Host tool execution failed',
} as const;

/** The error text for a refused command. Another program may have removed the client's session. */
export function refusalText(thrown: unknown): string {
  return isUnknownPod(thrown) ? TEXTS.removed : asPolypodError(thrown).message;
}
