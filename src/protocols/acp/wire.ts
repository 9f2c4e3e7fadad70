import type { JsonObject } from '../../base/index.ts';

/** The messages of the Agent Client Protocol, version 1, that this door sends, and those that it reads. */

export const PROTOCOL_VERSION = 1;

/** The error codes of the protocol beyond those of JSON-RPC. */
export const ACP_CODES = {
  authRequired: -32000,
  notFound: -32002,
  cancelled: -32800,
} as const;

/** What the editor can do for the agent. */
export interface ClientCapabilities {
  readonly readFile: boolean;
  readonly writeFile: boolean;
  readonly terminal: boolean;
  readonly terminalAuth: boolean;
  /** The convention for terminal sign-in before the protocol had one. */
  readonly legacyTerminalAuth: boolean;
  readonly booleanOptions: boolean;
  readonly notices: boolean;
  readonly compaction: boolean;
  /** Shows forms. */
  readonly elicitation: boolean;
  /** Asks the user to open pages. */
  readonly urlElicitation: boolean;
  /** Shows the output of commands that the agent runs itself, from `_meta.terminal_output`. */
  readonly terminalOutput: boolean;
  /** Wants the numbers of the pod's events in `_meta.polypod.seq`: an extension of this agent. */
  readonly eventNumbers: boolean;
}

export type ContentBlock =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image'; readonly data: string; readonly mimeType: string };

export type ToolKind =
  | 'read'
  | 'edit'
  | 'delete'
  | 'move'
  | 'search'
  | 'execute'
  | 'think'
  | 'fetch'
  | 'switch_mode'
  | 'other';

export type ToolCallStatus = 'pending' | 'in_progress' | 'completed' | 'failed';

export interface Location {
  readonly path: string;
  readonly line?: number;
}

export type ToolCallContent =
  | { readonly type: 'content'; readonly content: ContentBlock }
  | { readonly type: 'diff'; readonly path: string; readonly oldText?: string; readonly newText: string }
  | { readonly type: 'terminal'; readonly terminalId: string };

/** The fields of a tool call. An update contains only those that change. */
export interface ToolCallFields {
  readonly title?: string;
  readonly name?: string;
  readonly kind?: ToolKind;
  readonly status?: ToolCallStatus;
  readonly content?: readonly ToolCallContent[];
  readonly locations?: readonly Location[];
  readonly rawInput?: JsonObject;
  readonly rawOutput?: JsonObject;
  readonly _meta?: JsonObject;
}

export interface PlanEntry {
  readonly content: string;
  readonly priority: 'high' | 'medium' | 'low';
  readonly status: 'pending' | 'in_progress' | 'completed';
}

export interface AvailableCommand {
  readonly name: string;
  readonly description: string;
  readonly input?: { readonly hint: string };
}

export interface SessionModes {
  readonly currentModeId: string;
  readonly availableModes: readonly {
    readonly id: string;
    readonly name: string;
    readonly description?: string;
  }[];
}

export type ConfigOption = {
  readonly id: string;
  readonly name: string;
  readonly description?: string;
  readonly category?: 'mode' | 'model' | 'thought_level';
} & (
  | {
      readonly type: 'select';
      readonly currentValue: string;
      readonly options: readonly {
        readonly value: string;
        readonly name: string;
        readonly description?: string;
      }[];
    }
  | { readonly type: 'boolean'; readonly currentValue: boolean }
);

/** What a `session/update` reports. */
export type SessionUpdate =
  | {
      readonly sessionUpdate: 'user_message_chunk' | 'agent_message_chunk' | 'agent_thought_chunk';
      readonly content: ContentBlock;
      readonly messageId?: string;
    }
  | ({
      readonly sessionUpdate: 'tool_call';
      readonly toolCallId: string;
      readonly title: string;
    } & ToolCallFields)
  | ({ readonly sessionUpdate: 'tool_call_update'; readonly toolCallId: string } & ToolCallFields)
  | { readonly sessionUpdate: 'plan'; readonly entries: readonly PlanEntry[] }
  | {
      readonly sessionUpdate: 'available_commands_update';
      readonly availableCommands: readonly AvailableCommand[];
    }
  | { readonly sessionUpdate: 'current_mode_update'; readonly currentModeId: string }
  | { readonly sessionUpdate: 'config_option_update'; readonly configOptions: readonly ConfigOption[] }
  | {
      readonly sessionUpdate: 'session_info_update';
      readonly title?: string | null;
      readonly updatedAt?: string;
    }
  | {
      readonly sessionUpdate: 'usage_update';
      readonly used: number;
      readonly size: number;
      readonly cost?: { readonly amount: number; readonly currency: string };
    }
  | {
      readonly sessionUpdate: 'notice';
      readonly severity: 'info' | 'warning' | 'error';
      readonly title: string;
      readonly description?: string;
    }
  | {
      readonly sessionUpdate: 'compaction_update';
      readonly compactionId: string;
      readonly status: 'in_progress' | 'completed' | 'failed' | 'cancelled';
      readonly summary?: readonly ContentBlock[];
      readonly error?: string;
    };

export type StopReason = 'end_turn' | 'max_tokens' | 'max_turn_requests' | 'refusal' | 'cancelled';

export type PermissionKind = 'allow_once' | 'allow_always' | 'reject_once';

export interface PermissionOption {
  readonly optionId: string;
  readonly name: string;
  readonly kind: PermissionKind;
}

export interface SessionInfo {
  readonly sessionId: string;
  readonly cwd: string;
  readonly title?: string;
  readonly updatedAt?: string;
}
