/** The handlers of all commands of the protocol. */
import type { CommandHandler } from './command.ts';
import { exportHtml } from './export-html.ts';
import * as history from './history.ts';
import * as models from './models.ts';
import * as prompting from './prompting.ts';
import * as sessions from './sessions.ts';
import * as state from './state.ts';
import { getTree } from './tree.ts';
import * as work from './work.ts';

export const COMMANDS: Readonly<Record<string, CommandHandler>> = {
  prompt: prompting.prompt,
  steer: prompting.steer,
  follow_up: prompting.followUp,
  abort: prompting.abort,
  abort_and_prompt: prompting.abortAndPrompt,
  new_session: sessions.newSession,
  get_state: state.getState,
  set_todos: state.setTodos,
  set_host_tools: state.setHostTools,
  set_model: models.setModel,
  cycle_model: models.cycleModel,
  get_available_models: models.getAvailableModels,
  set_thinking_level: models.setThinkingLevel,
  cycle_thinking_level: models.cycleThinkingLevel,
  set_steering_mode: state.setSteeringMode,
  set_follow_up_mode: state.setFollowUpMode,
  set_interrupt_mode: state.setInterruptMode,
  compact: work.compact,
  set_auto_compaction: state.setAutoCompaction,
  set_auto_retry: state.setAutoRetry,
  abort_retry: prompting.abortRetry,
  bash: work.bash,
  abort_bash: work.abortBash,
  get_session_stats: history.getSessionStats,
  export_html: exportHtml,
  switch_session: sessions.switchSession,
  branch: sessions.branch,
  get_branch_messages: history.getBranchMessages,
  get_last_assistant_text: history.getLastAssistantText,
  set_session_name: sessions.setSessionName,
  get_messages: history.getMessages,
  // Not in the reference, but sent by clients of pi and xcsh.
  fork: sessions.fork,
  get_fork_messages: history.getBranchMessages,
  get_commands: state.getCommands,
  clone: sessions.clone,
  clear_queue: prompting.clearQueue,
  get_available_thinking_levels: models.getAvailableThinkingLevels,
  get_entries: history.getEntries,
  get_tree: getTree,
  set_locale: state.setLocale,
  get_integrations: state.getIntegrations,
};

export type { CommandHandler } from './command.ts';
