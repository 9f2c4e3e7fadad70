import type { JsonObject } from '../../base/index.ts';

/** The types of the HumanLayer daemon's protocol. Absent values are omitted, never null. */

/** The documented statuses. Strict clients know no others. */
export const SESSION_STATUSES = ['starting', 'running', 'completed', 'failed', 'waiting_input'] as const;
export type SessionStatus = (typeof SESSION_STATUSES)[number];

/** Details that a status cannot express, in a separate field. */
export type SessionDetail = 'draft' | 'discarded' | 'interrupting' | 'interrupted' | 'paused';

/** The status of an approval. `resolved`: it expired or was withdrawn. */
export type ApprovalWord = 'pending' | 'approved' | 'denied' | 'resolved';

/** The fields that both views of a session share. */
export interface SessionHead {
  readonly id: string;
  readonly run_id: string;
  readonly claude_session_id: string;
  readonly parent_session_id?: string;
  readonly status: SessionStatus;
  readonly detail?: SessionDetail;
  readonly query: string;
  /** The query on one line of at most 50 characters. */
  readonly summary: string;
  readonly title: string;
  /** `opus`, `sonnet` or `haiku` for these models, else the model's id. */
  readonly model: string;
  readonly model_id: string;
  readonly working_dir?: string;
  readonly last_activity_at: string;
  readonly auto_accept_edits: boolean;
  readonly dangerously_skip_permissions: boolean;
  readonly dangerously_skip_permissions_expires_at?: string;
  readonly archived: boolean;
}

/** A session in a list. */
export interface ListedSession extends SessionHead {
  readonly start_time: string;
  readonly end_time?: string;
  readonly error?: string;
  readonly result?: SessionResult;
  readonly proxy_enabled: boolean;
}

/** What Claude Code reports at the end of a session. */
export interface SessionResult {
  readonly type: 'result';
  readonly subtype: 'session_completed';
  readonly total_cost_usd: number;
  readonly is_error: boolean;
  readonly duration_ms: number;
  readonly duration_api_ms: number;
  readonly num_turns: number;
  readonly result: string;
  readonly session_id: string;
  readonly error?: string;
}

/** A single session with all details. */
export interface SessionState extends SessionHead {
  readonly created_at: string;
  readonly completed_at?: string;
  readonly error_message?: string;
  readonly cost_usd?: number;
  readonly total_tokens?: number;
  readonly input_tokens?: number;
  readonly output_tokens?: number;
  readonly cache_creation_input_tokens?: number;
  readonly cache_read_input_tokens?: number;
  readonly effective_context_tokens?: number;
  readonly context_limit?: number;
  readonly duration_ms?: number;
}

/** One row of a conversation. */
export interface ConversationEvent {
  readonly id: number;
  readonly session_id: string;
  readonly claude_session_id: string;
  /** Starts at 1 in every session. */
  readonly sequence: number;
  readonly event_type: 'message' | 'thinking' | 'tool_call' | 'tool_result' | 'system';
  readonly created_at: string;
  readonly role?: 'user' | 'assistant' | 'system';
  readonly content?: string;
  readonly tool_id?: string;
  readonly tool_name?: string;
  readonly tool_input_json?: string;
  readonly tool_result_for_id?: string;
  readonly tool_result_content?: string;
  /** Whether a call has its result; false for all other rows. */
  readonly is_completed: boolean;
  readonly approval_status?: ApprovalWord;
  readonly approval_id?: string;
}

export interface WireApproval {
  readonly id: string;
  readonly run_id: string;
  readonly session_id: string;
  readonly tool_use_id?: string;
  readonly status: ApprovalWord;
  readonly created_at: string;
  readonly responded_at?: string;
  readonly tool_name: string;
  readonly tool_input: unknown;
  readonly comment?: string;
  /** What the sub-agent that makes the call was asked to do. */
  readonly sub_agent?: string;
}

export interface FileSnapshot {
  readonly tool_id: string;
  readonly file_path: string;
  readonly content: string;
  readonly created_at: string;
}

export interface RecentPath {
  readonly path: string;
  readonly last_used: string;
  readonly usage_count: number;
}

/** An event for subscribers. */
export const EVENT_TYPES = [
  'new_approval',
  'approval_resolved',
  'session_status_changed',
  'conversation_updated',
  'session_settings_changed',
] as const;
export type EventType = (typeof EVENT_TYPES)[number];

export interface HldEvent {
  readonly type: EventType;
  readonly timestamp: string;
  readonly data: JsonObject & { readonly session_id: string };
  /** The number of the pod event that it reports. */
  readonly seq?: number;
}

/** The prefix of approval ids in this protocol. */
export const APPROVAL_PREFIX = 'local-';

/** The permission tool that represents our own approvals: clients name it without providing its server. */
export const NATIVE_PERMISSION_TOOL = 'mcp__codelayer__request_permission';

export const SUBSCRIBED = 'Subscription established. Waiting for events...';
export const HEARTBEAT = { type: 'heartbeat', message: 'Connection alive' } as const;
