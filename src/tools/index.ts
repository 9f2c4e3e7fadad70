/** The tools of an agent, one file each, and the policy that decides whether a call may run. */
export { shape } from '../base/index.ts';
export {
  type Access,
  defineTool,
  errorOutput,
  invalidArguments,
  type InvalidCall,
  type ReadOnlyRun,
  type HostToolContext,
  type ModelUse,
  type PreparedCall,
  type Sandbox,
  type SandboxedCommand,
  type SandboxRequest,
  type Tool,
  type ToolOutput,
  type ToolContext,
  type ToolParts,
  textOutput,
} from './tool.ts';
export { endedCommandsIn } from './bash/background-output.ts';
export {
  BackgroundCommands,
  type BackgroundLimits,
  type BackgroundListener,
  DEFAULT_BACKGROUND_LIMITS,
} from './process/background-commands.ts';
export type {
  ClientAnswer,
  ClientFiles,
  ClientRead,
  ClientServices,
  ClientWrite,
  ClientPage,
  ClientQuestion,
  RunInTerminal,
  TerminalCommand,
  TerminalEnd,
} from './client-services.ts';
export { builtinTools } from './builtin-tools.ts';
export type { FileVersion, FileWrite, RecordFileWrite } from './file-version.ts';
export { changeFile, currentVersion, removeIfEmpty } from './files/restore-file.ts';
export { classifyContent } from './files/file-content.ts';
export { applyEdits } from './text/edit-text.ts';
export { createDiff } from './text/diff.ts';
export { diffDetails } from './text/diff-details.ts';
export { formatCount, oneLine } from './text/shorten.ts';
export { readTextFile } from './files/text-file.ts';
export { type CommandEntry, CommandLedger, type CommandRecord } from './process/command-ledger.ts';
export {
  type CommandLimiter,
  commandLimiter,
  type CommandLimits,
  DEFAULT_COMMAND_LIMITS,
  type LimitState,
} from './process/command-limits.ts';
export { type Isolation, type IsolationState, pidNamespace } from './process/isolation.ts';
export { findProcess } from './process/process-list.ts';
export { ProcessTree } from './process/process-tree.ts';
export { endOrphans, orphanNote, type OwnerState } from './process/orphans.ts';
export { printedText } from './printed-output.ts';
export { openSandboxes, type Sandboxes, type SandboxOptions, type SandboxScope } from './sandbox/index.ts';
export { TODO_STATUSES, type TodoItem, type TodoStore, todoTool } from './todo.ts';
export { workspaceFiles } from './search/workspace-files.ts';
export { webFetchTool } from './web-fetch.ts';
export { webSearchTool } from './web-search.ts';
export { SEARCH_PROVIDER_NAMES, SEARCH_PROVIDERS, type SearchProviderName } from './web/search-providers.ts';
export { prepareReadOnlyRun } from './read-only-run/index.ts';
export {
  type ExaminedCall,
  examine,
  type FileFacts,
  fileFacts,
  fileFactsFor,
  findProgram,
  fixedGitEnvironment,
  guardFor,
  matchesTool,
  isApprovedByRules,
  isInside,
  isSecret,
  isStartupFile,
  judge,
  type JudgedAccess,
  type JudgedGit,
  mayWrite,
  PERMISSION_MODES,
  type PermissionMode,
  type PathLocation,
  type Policy,
  withUnrestrictedReads,
  realPath,
  type RealPath,
  type Repository,
  type Rule,
  RULE_ACTIONS,
  ruleFor,
  type Scope,
  scopeFrom,
  type StartupFiles,
  startupFilesBelow,
  type Verdict,
} from './policy/index.ts';
