/** A session as a tree of entries, in the JSON-lines format that pi and xcsh read. */
export type { AgentMessage } from './agent-message.ts';
export { apiOf, callIdOf } from './block.ts';
export { checkpointBody, compactionBody, conversation, type ModelChoice } from './conversation.ts';
export {
  type Body,
  encodeEntry,
  encodeHeader,
  type Entry,
  FORMAT_VERSION,
  type Header,
} from './entry.ts';
export { factKind, isFact } from './fact.ts';
export {
  ACCEPTED,
  APPROVAL_REQUEST,
  APPROVAL_RESPONSE,
  BACKGROUND_END,
  BACKGROUND_START,
  BRANCH,
  CHECKPOINT,
  DAMAGED_ENTRY,
  FILE_CHANGE,
  FORK,
  MARK,
  ORPHANED_RESULT,
  QUEUED,
  REPAIRED,
  REWIND,
  RUN_END,
  RUN_START,
  SETTINGS,
  SHELL_END,
  SHELL_START,
  TITLE,
  TODOS,
  TOOL_END,
  TOOL_START,
  UNQUEUED,
} from './facts.ts';
import * as field from './field.ts';
export { field };
export { TailReader } from './from-end.ts';
export {
  type AnswerDetails,
  answerMessage,
  brokenMessage,
  fileStopReason,
  inputMessage,
  itemsOf,
  resultMessage,
} from './messages.ts';
export { parseLine } from './parse.ts';
export { SessionTree, type Source } from './tree.ts';
export { shellItem, shellMessage } from './shell-message.ts';
export { spentOn } from './usage.ts';
export { isReadable, readable } from './version.ts';
