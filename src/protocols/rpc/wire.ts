import type { ThinkingLevel } from '../../pod/index.ts';
import type { JsonObject } from '../../base/index.ts';

/** The types of the protocol. A key whose value is undefined is absent on the wire, never null. */

export interface RpcModel {
  readonly id: string;
  readonly name: string;
  /** `anthropic-messages`, `openai-completions`, … */
  readonly api: string;
  readonly provider: string;
  readonly baseUrl: string;
  readonly reasoning: boolean;
  /** Only for a model with reasoning. */
  readonly thinking?: RpcThinking;
  readonly input: readonly ('text' | 'image')[];
  /** USD per million tokens. */
  readonly cost: {
    readonly input: number;
    readonly output: number;
    readonly cacheRead: number;
    readonly cacheWrite: number;
  };
  readonly contextWindow: number;
  readonly maxTokens: number;
}

/** How a model is instructed to think, and its range of levels. */
export interface RpcThinking {
  readonly mode: 'effort' | 'budget' | 'google-level' | 'anthropic-adaptive' | 'anthropic-budget-effort';
  readonly minLevel: Exclude<ThinkingLevel, 'off'>;
  readonly maxLevel: Exclude<ThinkingLevel, 'off'>;
}

/** A message of any role, as in the session file. */
export type RpcMessage = JsonObject & { readonly role: string };

export interface RpcToolResult {
  readonly content: readonly JsonObject[];
  readonly details?: unknown;
  readonly isWarning?: boolean;
}

export interface RpcTodo {
  readonly id: string;
  readonly content: string;
  readonly status: 'pending' | 'in_progress' | 'completed' | 'abandoned';
  readonly notes?: string;
}

export interface RpcTodoPhase {
  readonly id: string;
  readonly name: string;
  readonly tasks: readonly RpcTodo[];
}

export interface RpcHostTool {
  readonly name: string;
  readonly label: string;
  readonly description: string;
  readonly parameters: JsonObject;
  readonly hidden: boolean;
}

export interface RpcState {
  readonly model?: RpcModel;
  readonly thinkingLevel?: ThinkingLevel;
  readonly isStreaming: boolean;
  readonly isCompacting: boolean;
  readonly steeringMode: 'all' | 'one-at-a-time';
  readonly followUpMode: 'all' | 'one-at-a-time';
  readonly interruptMode: 'immediate' | 'wait';
  readonly sessionFile?: string;
  readonly sessionId: string;
  readonly sessionName?: string;
  readonly autoCompactionEnabled: boolean;
  readonly messageCount: number;
  readonly queuedMessageCount: number;
  /** The same values as in pi. */
  readonly pendingMessageCount: number;
  readonly todoPhases: readonly RpcTodoPhase[];
  /** The system prompt and the tools of the model; absent while MCP servers are starting. */
  readonly systemPrompt?: string;
  readonly dumpTools?: readonly {
    readonly name: string;
    readonly description: string;
    readonly parameters: JsonObject;
  }[];
}

export interface RpcSessionStats {
  readonly sessionFile?: string;
  readonly sessionId: string;
  readonly userMessages: number;
  readonly assistantMessages: number;
  readonly toolCalls: number;
  readonly toolResults: number;
  readonly totalMessages: number;
  readonly tokens: {
    readonly input: number;
    readonly output: number;
    readonly cacheRead: number;
    readonly cacheWrite: number;
    readonly total: number;
  };
  readonly cost: number;
  readonly premiumRequests: number;
  readonly contextUsage?: {
    readonly tokens: number;
    readonly contextWindow: number;
    readonly percent: number;
  };
}

export interface RpcBashResult {
  readonly output: string;
  readonly exitCode?: number;
  readonly cancelled: boolean;
  readonly truncated: boolean;
  readonly totalLines: number;
  readonly totalBytes: number;
  readonly outputLines: number;
  readonly outputBytes: number;
  readonly fullOutputPath?: string;
}

export interface RpcCompaction {
  readonly summary: string;
  readonly firstKeptEntryId: string;
  readonly tokensBefore: number;
  readonly preserveData: JsonObject;
}

export interface RpcRule {
  readonly name: string;
  readonly path: string;
  readonly content: string;
  /** Regular expressions; a match in the model's output stops the answer. */
  readonly condition: readonly string[];
}

/** An update of an answer in progress; `partial` is the message so far. */
export type RpcAssistantEvent =
  | { readonly type: 'text_start' | 'thinking_start' | 'toolcall_start'; readonly contentIndex: number }
  | {
      readonly type: 'text_delta' | 'thinking_delta' | 'toolcall_delta';
      readonly contentIndex: number;
      readonly delta: string;
    }
  | { readonly type: 'text_end' | 'thinking_end'; readonly contentIndex: number; readonly content: string }
  | { readonly type: 'toolcall_end'; readonly contentIndex: number; readonly toolCall: JsonObject };

/** All events except `message_update`, which is encoded separately because it contains the growing message twice. */
export type RpcEvent =
  | { readonly type: 'agent_start' | 'turn_start' | 'todo_auto_clear' }
  | { readonly type: 'agent_end'; readonly messages: readonly RpcMessage[] }
  | { readonly type: 'agent_settled'; readonly aborted: boolean }
  /** Of pi: the session was renamed, by this or another client. */
  | { readonly type: 'session_info_changed'; readonly name: string }
  | { readonly type: 'turn_end'; readonly message: RpcMessage; readonly toolResults: readonly RpcMessage[] }
  | { readonly type: 'message_start' | 'message_end'; readonly message: RpcMessage }
  | {
      readonly type: 'tool_execution_start';
      readonly toolCallId: string;
      readonly toolName: string;
      readonly args: JsonObject;
    }
  | {
      readonly type: 'tool_execution_update';
      readonly toolCallId: string;
      readonly toolName: string;
      readonly args: JsonObject;
      readonly partialResult: RpcToolResult;
    }
  | {
      readonly type: 'tool_execution_end';
      readonly toolCallId: string;
      readonly toolName: string;
      readonly result: RpcToolResult;
      readonly isError: boolean;
      readonly isWarning: boolean;
    }
  | {
      readonly type: 'auto_compaction_start';
      readonly reason: 'threshold' | 'overflow';
      readonly action: 'context-full';
    }
  | {
      readonly type: 'auto_compaction_end';
      readonly action: 'context-full';
      readonly result?: RpcCompaction;
      readonly aborted: boolean;
      readonly willRetry: boolean;
      readonly errorMessage?: string;
      readonly skipped?: true;
    }
  | {
      readonly type: 'auto_retry_start';
      readonly attempt: number;
      readonly maxAttempts: number;
      readonly delayMs: number;
      readonly errorMessage: string;
    }
  | {
      readonly type: 'auto_retry_end';
      readonly success: boolean;
      readonly attempt: number;
      readonly finalError?: string;
    }
  | { readonly type: 'ttsr_triggered'; readonly rules: readonly RpcRule[] }
  | {
      readonly type: 'todo_reminder';
      readonly todos: readonly Pick<RpcTodo, 'id' | 'content' | 'status'>[];
      readonly attempt: number;
      readonly maxAttempts: number;
    }
  | {
      readonly type: 'extension_error';
      readonly extensionPath: string;
      readonly event: string;
      readonly error: string;
    }
  | {
      readonly type: 'host_tool_call';
      readonly id: string;
      readonly toolCallId: string;
      readonly toolName: string;
      readonly arguments: JsonObject;
    }
  | { readonly type: 'host_tool_cancel'; readonly id: string; readonly targetId: string }
  | ({ readonly type: 'extension_ui_request'; readonly id: string } & RpcUiRequest);

/** A dialog or notice of an extension, or of ours. */
export type RpcUiRequest =
  | {
      readonly method: 'select';
      readonly title: string;
      readonly options: readonly string[];
      readonly timeout?: number;
    }
  | {
      readonly method: 'confirm';
      readonly title: string;
      readonly message: string;
      readonly timeout?: number;
    }
  | {
      readonly method: 'input';
      readonly title: string;
      readonly placeholder?: string;
      readonly timeout?: number;
    }
  | { readonly method: 'editor'; readonly title: string; readonly prefill?: string }
  | { readonly method: 'cancel'; readonly targetId: string }
  | {
      readonly method: 'notify';
      readonly message: string;
      readonly notifyType?: 'info' | 'warning' | 'error';
    }
  | { readonly method: 'setStatus'; readonly statusKey: string; readonly statusText?: string }
  | {
      readonly method: 'setWidget';
      readonly widgetKey: string;
      readonly widgetLines?: readonly string[];
      readonly widgetPlacement?: 'aboveEditor' | 'belowEditor';
    }
  | { readonly method: 'setTitle'; readonly title: string }
  | { readonly method: 'set_editor_text'; readonly text: string };

export type RpcResponse = {
  readonly id?: unknown;
  readonly type: 'response';
  readonly command?: string;
} & (
  | { readonly success: true; readonly data?: unknown }
  | { readonly success: false; readonly error: string }
);
