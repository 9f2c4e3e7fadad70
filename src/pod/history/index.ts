/** What sessions have recorded, as plain values: nobody outside of `pod` reads the entries of a session file. */
export { type Compaction, compactionIn, isCompacted } from './compaction.ts';
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
