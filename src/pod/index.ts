/** A live agent bound to one session: commands in, numbered events out. */
export type { Person } from './person.ts';
export { backendModel, otherBackend, OWN_BACKEND } from './backend-name.ts';
export type { OfferedModel } from './offered-model.ts';
export type {
  Agent,
  Children,
  ChildPod,
  OpenAgent,
  ReadyModel,
  AgentContext,
  TitleSource,
  WrittenTitle,
} from './agent.ts';
export type { DeadlinePolicy } from './live/approvals.ts';
export type { Briefing } from './live/run/run-setup.ts';
export type { ApprovalRow, Filter, ListOptions, Row, TaskRow } from './catalogue/index.ts';
export {
  BASE64,
  type Caller,
  type PodCommandOf,
  commandSchema,
  type Limit,
  MEDIA_TYPE,
  type Overrides,
  type Submitter,
  type PodCommand,
  readCommand,
  type ValidCommand,
  type Receipt,
} from './command.ts';
export {
  DEADLINE_FALLBACKS,
  type DeadlineFallback,
  type Decision,
  DECISIONS,
  REMEMBER_OPTIONS,
  type RememberOption,
} from './decision.ts';
export { endRun } from './end-run.ts';
export type {
  Approval,
  ApprovalStatus,
  BackgroundCommandStart,
  Lane,
  Origin,
  PodEvent,
  PodEventOf,
  PodFact,
  PodState,
  Queued,
  RewoundFile,
  RunPurpose,
  Settlement,
} from './event.ts';
export { isReaderTooSlow } from '../base/index.ts';
export { isPodBusy } from './busy.ts';
export { isUnknownPod } from './unknown-pod.ts';
export { KeyReused } from './receipts.ts';
export { EventBatch, type Numbered } from './feed/index.ts';
export { Host } from './host/host.ts';
export type { ApprovalDecision, SessionApproval } from './host/host-approvals.ts';
export type {
  RecordedCompaction,
  ConversationItem,
  ConversationPart,
  EntryNode,
  FileChange,
  Prompt,
  RecordedEntries,
  SessionMessage,
  TaskHistory,
  TaskOutcome,
  TaskUsage,
} from './history/index.ts';
export type { SessionTexts } from './host/session-texts.ts';
export {
  type Change,
  DEFAULT_LIMITS,
  type Fork,
  type HostLimits,
  type HostOptions,
  type NewPod,
  type PodMove,
} from './host/host-options.ts';
export type { FilePreview, RewindPoint, RewindPoints } from './rewind/index.ts';
export { REWIND_PARTS, type RewindParts } from './rewind-parts.ts';
export type { WatchItem } from './watch.ts';
export { Pod, type WatchOptions } from './pod.ts';
export {
  type AgentMessage,
  type AnswerDetails,
  answerMessage,
  apiOf,
  brokenMessage,
  fileStopReason,
  inputMessage,
  type ModelChoice,
  resultMessage,
} from './session/index.ts';
export {
  BACKEND_NAME,
  type ClientTool,
  DEFAULT_SETTINGS,
  type PodSettings,
  type ServerValues,
  type SettingsChange,
  TOOL_NAME,
} from './settings.ts';
export type { SessionTitle } from './session-title.ts';
export { childLabel, subagentAnnotations } from './subagent-label.ts';
export type { Snapshot, Stats } from './snapshot.ts';
export { isWithinLimit, TOOL_LIMIT, type ToolLimit } from './tool-limit.ts';
export type { BlockView, RunView, ShellView, ToolView } from './view/view.ts';
export type { TaskView } from './view/task-book.ts';

/** Types of lower layers that the pod's types use. */
export { type ItemOf, THINKING_LEVELS, type ThinkingLevel } from '../llm/index.ts';
export { NO_TOTALS } from '../worker/index.ts';
export {
  type ClientAnswer,
  type ClientFiles,
  type ClientRead,
  type ClientServices,
  type ClientWrite,
  PERMISSION_MODES,
  type PermissionMode,
  printedText,
  type ClientPage,
  type ClientQuestion,
  type Rule,
  type RunInTerminal,
  type TerminalCommand,
  type TerminalEnd,
  TODO_STATUSES,
} from '../tools/index.ts';
