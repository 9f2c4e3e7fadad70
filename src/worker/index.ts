/** Runs a conversation: turns with the model, and the tool calls between them. */
export type { ApprovalResult, Approve, PendingApproval, ApprovalRequest } from './approval.ts';
export {
  type CompactionPolicy,
  type CompactionRequest,
  DEFAULT_COMPACTION,
  summaryItem,
} from './compaction.ts';
export { Conversation, type ContextMeasurement } from './conversation.ts';
export type { CallOutcome } from './decide-call.ts';
export type {
  CallLine,
  CallStatus,
  CompactionReason,
  CompactionResult,
  InputOrigin,
  RunEvent,
  RunOutcome,
  Totals,
  WorkerEvent,
} from './event.ts';
export type { Hook, HookVerdict } from './hooks.ts';
export {
  DEFAULT_MODES,
  type DeliveryMode,
  Inbox,
  type InboxModes,
  type InterruptMode,
  type Message,
} from './inbox.ts';
export { interruptedItems } from './interruption.ts';
export { DEFAULT_LOOP, type LoopPolicy } from './loop-guard.ts';
export {
  approveByPolicy,
  type PermissionAnswer,
  type PermissionQuestion,
  type ChangedCallVerdict,
  judgeChangedCall,
} from './policy-approval.ts';
export { DEFAULT_PRUNE, type PrunePolicy } from './prune.ts';
export type { TurnSettings } from './settings.ts';
export { type SystemPromptInput, systemPrompt } from './system-prompt.ts';
export { NO_TOTALS, addTotals, subtractTotals, withUse } from './totals.ts';
export { estimateTokens } from './tokens.ts';
export { boundReached, type RunBounds } from './run-bounds.ts';
export { Worker, type WorkerOptions, type WorkerPolicies } from './worker.ts';
