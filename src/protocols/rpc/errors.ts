/** In the words that clients of the protocol know. */
export const TEXTS = {
  busy: 'Agent is already processing. Use steer() or followUp() to queue messages, or wait for completion.',
  emptyName: 'Session name cannot be empty',
  smallSession: 'Nothing to compact (session too small)',
  compacted: 'Already compacted',
  compactionCancelled: 'Compaction cancelled',
  branchEntry: 'Invalid entry ID for branching',
  forkEntry: 'Invalid entry ID for forking',
  nothingToClone: 'Cannot clone session: no current entry selected',
  memoryExport: 'Cannot export in-memory session to HTML',
  aborted: 'Request was aborted',
  retryCancelled: 'Retry cancelled',
  disconnected: 'RPC client disconnected before host tool execution completed',
  hostToolFailed: 'Host tool execution failed',
} as const;
