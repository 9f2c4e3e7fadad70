/** Recorded history as plain values. Code outside `pod` does not read session file entries. */
export { type RecordedCompaction, compactionIn, isCompacted } from './compaction.ts';
export {
  type ConversationItem,
  type ConversationPart,
  conversationParts,
} from './conversation-parts.ts';
export { type EntryNode, type RecordedEntries, entriesAfter, entryNodes } from './recorded-entries.ts';
export { type Prompt, promptsIn } from './prompts.ts';
export { type SessionMessage, sessionMessages } from './session-messages.ts';
export { type TaskHistory, taskIn, type TaskUsage } from './task-history.ts';
export type { FileChange, TaskOutcome } from './task-outcome.ts';
