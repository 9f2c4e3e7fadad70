import type { JsonObject } from '../../base/index.ts';

/** A line from a client. `params` is optional; the last two fields are extras. */
export interface WireRequest {
  readonly method: string;
  readonly params?: JsonObject;
  /** Identifies the answers to this line: they carry it, and go to the sender alone. */
  readonly request_id?: RequestId;
  /** Repeating a line with the same key has no effect. */
  readonly idempotency_key?: string;
}

export type RequestId = string | number;

/** A line to a client. `seq` is the number of the last pod event that it covers; answers have none. */
export type WireEvent<K extends keyof WireEvents = keyof WireEvents> = {
  [E in K]: {
    readonly event: E;
    readonly data: WireEvents[E];
    readonly seq?: number;
    readonly request_id?: RequestId;
  };
}[K];

export type WireEvents = SeedEvents & ExtraEvents;

/** Events that every client receives. */
export interface SeedEvents {
  readonly turn_start: { readonly turn: number };
  readonly turn_end: { readonly turn: number; readonly result: TurnResult };
  readonly text_delta: { readonly text: string };
  readonly text_done: { readonly text: string };
  readonly thinking_delta: { readonly text: string };
  readonly thinking_done: { readonly text: string };
  readonly tool_call_start: { readonly id: string; readonly name: string };
  readonly tool_call_args_delta: { readonly id: string; readonly json: string };
  readonly tool_call_done: { readonly id: string; readonly name: string; readonly arguments: string };
  readonly tool_result: {
    readonly id: string;
    readonly output: string;
    readonly is_error: boolean;
    /** Extra. */
    readonly status?: string;
    /** Extra: set if there is more than text. */
    readonly content?: readonly WireContent[];
  };
  readonly status: WireStatus;
  readonly history: {
    readonly items: readonly WireItem[];
    /** Extra: the part of the answer that the model has written so far. */
    readonly in_flight?: readonly WireBlock[];
  };
  readonly usage: WireUsage;
  readonly error: {
    readonly code: WireErrorCode;
    readonly message: string;
    /** Extra: the number to resume after, for a client that was disconnected. */
    readonly resume_after?: number;
  };
}

/** The last three are extras: clients without extras receive `finished`. */
export type TurnResult = 'finished' | 'paused' | 'cancelled' | 'failed' | 'interrupted';

export interface WireStatus {
  readonly state: 'idle' | 'running' | 'paused';
  readonly session_id: string;
  readonly pod_name: string;
  /** Extra: `waiting` means paused until a decision. */
  readonly detail?: 'idle' | 'running' | 'waiting' | 'paused';
}

/** Values that the provider did not report are absent. All but the first two are extras. */
export interface WireUsage {
  readonly input_tokens?: number;
  readonly output_tokens?: number;
  readonly total_tokens?: number;
  readonly cache_read_input_tokens?: number;
  readonly cache_creation_input_tokens?: number;
  readonly reasoning_tokens?: number;
}

export type SeedErrorCode =
  | 'already_running'
  | 'not_running'
  | 'not_paused'
  | 'provider_error'
  | 'tool_error'
  | 'internal';

/** All after the first six are extras: clients without extras receive `internal`. */
export type WireErrorCode =
  | SeedErrorCode
  | 'invalid_request'
  | 'not_found'
  | 'conflict'
  | 'denied'
  | 'overloaded';

export type WireItem =
  | {
      readonly type: 'message';
      readonly role: 'user' | 'assistant' | 'system';
      readonly content: readonly WireContent[];
    }
  | {
      readonly type: 'tool_call';
      readonly call_id: string;
      readonly name: string;
      readonly arguments: string;
    }
  | {
      readonly type: 'tool_result';
      readonly call_id: string;
      readonly output: string;
      readonly is_error: boolean;
      readonly content?: readonly WireContent[];
    }
  | { readonly type: 'reasoning'; readonly text: string };

export type WireContent =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image'; readonly media_type: string; readonly data: string };

export interface WireBlock {
  readonly type: 'text' | 'thinking' | 'tool_call';
  readonly text: string;
  /** False for a block that ended before its answer. */
  readonly open: boolean;
  readonly id?: string;
  readonly name?: string;
}

interface By {
  readonly by?: string | undefined;
  readonly door?: string | undefined;
}

/** Events that a client receives after it has subscribed. */
export interface ExtraEvents {
  readonly subscribed: { readonly after: number };
  readonly snapshot: WireSnapshot;
  readonly accepted: {
    readonly seq: number;
    readonly run_id?: string;
    readonly queue_id?: string;
    readonly approval_id?: string;
    readonly shell_id?: string;
    readonly entry_id?: string;
  };
  readonly run_start: By & { readonly run_id: string; readonly task_id?: string };
  readonly run_end: {
    readonly run_id: string;
    readonly result: 'finished' | 'paused' | 'cancelled' | 'interrupted' | 'failed' | 'limited';
    readonly message?: string;
    readonly turns: number;
    readonly tool_calls: number;
    readonly input_tokens: number;
    readonly output_tokens: number;
    readonly cost?: number;
  };
  readonly user_message: By & {
    readonly text: string;
    readonly content?: readonly WireContent[];
    readonly origin: 'prompt' | 'steer' | 'follow_up' | 'continuation' | 'shell' | 'notice';
    readonly queue_id?: string;
  };
  readonly block_aborted: {
    readonly type: 'text' | 'thinking' | 'tool_call';
    readonly reason: string;
    readonly id?: string;
  };
  readonly tool_start: {
    readonly id: string;
    readonly name: string;
    readonly arguments: string;
    readonly title: string;
  };
  readonly tool_update: { readonly id: string; readonly text: string };
  readonly retry: {
    readonly attempt: number;
    readonly max_attempts: number;
    readonly delay_ms: number;
    readonly continuation: boolean;
    readonly message: string;
  };
  readonly retry_end: { readonly attempt: number; readonly success: boolean; readonly message?: string };
  readonly compact_start: { readonly reason: string };
  readonly compact_end: {
    readonly reason: string;
    readonly status: string;
    readonly summary?: string;
    readonly tokens_before?: number;
    readonly tokens_after?: number;
    readonly message?: string;
  };
  readonly queued: WireQueued;
  readonly unqueued: { readonly queue_ids: readonly string[]; readonly reason?: string };
  readonly approval_request: WireApproval;
  readonly approval_resolved: By & {
    readonly approval_id: string;
    readonly status: string;
    readonly at: string;
    readonly comment?: string;
    readonly updated_arguments?: string;
    readonly remember?: string;
  };
  readonly settings: By & { readonly settings: JsonObject };
  readonly todos: { readonly items: readonly WireTodo[] };
  readonly title: { readonly title: string };
  readonly branched: {
    readonly from: string | null;
    readonly items: readonly WireItem[];
    readonly turn: number;
  };
  /** Files or the conversation were returned to an earlier point; `branched` contains the conversation. */
  readonly rewound: By & {
    /** The entry of the prompt, or of the rewind, that was undone. */
    readonly target: string;
    readonly parts: 'both' | 'files' | 'conversation';
    readonly files: readonly WireRewoundFile[];
  };
  readonly shell_start: By & {
    readonly shell_id: string;
    readonly command: string;
    readonly private: boolean;
  };
  readonly shell_update: { readonly shell_id: string; readonly text: string };
  readonly shell_end: {
    readonly shell_id: string;
    readonly command: string;
    readonly status: string;
    readonly output: string;
    readonly is_error: boolean;
    readonly private: boolean;
  };
  readonly background_start: WireBackground;
  readonly background_end: {
    readonly id: string;
    readonly command: string;
    readonly status: 'done' | 'failed' | 'ended' | 'interrupted';
    readonly message: string;
  };
  readonly client_call: { readonly call_id: string; readonly name: string; readonly arguments: string };
  readonly client_cancel: { readonly call_id: string };
  /** The process was killed, and the session was opened again. The numbers in between are unused. */
  readonly recovered: { readonly lost: { readonly from: number; readonly to: number } };
  readonly commanded: { readonly command: string; readonly by: string; readonly door: string };
  readonly closed: By;
}

/** A background command of the agent. */
export interface WireBackground {
  readonly id: string;
  readonly command: string;
  readonly call_id: string;
  readonly started_at: string;
}

/** What a rewind did with a file; `reason` tells why it was skipped. */
export interface WireRewoundFile {
  readonly path: string;
  readonly outcome: 'restored' | 'removed' | 'skipped';
  readonly reason?: string;
}

export interface WireApproval {
  readonly approval_id: string;
  readonly requested_at: string;
  readonly tool: string;
  readonly arguments: string;
  readonly title: string;
  readonly reason: string;
  readonly run_id?: string;
  readonly call_id?: string;
  /** The pod that made the call, if it is a child pod. */
  readonly pod_id?: string;
  /** What that pod was asked to do. */
  readonly pod_name?: string;
  readonly rule?: JsonObject;
  readonly deadline?: string;
  readonly fallback?: 'deny' | 'pause';
}

export interface WireQueued extends By {
  readonly queue_id: string;
  readonly lane: 'prompt' | 'steer' | 'follow_up';
  readonly text: string;
  readonly content?: readonly WireContent[];
  readonly task_id?: string;
}

export interface WireTodo {
  readonly content: string;
  readonly status: string;
}

/** Everything needed to show a pod that was not watched before. */
export interface WireSnapshot extends Omit<WireStatus, 'detail'> {
  /** `gap`: the events after the requested number are no longer stored. */
  readonly reason: 'joined' | 'gap';
  readonly detail: 'idle' | 'running' | 'waiting' | 'paused';
  readonly cwd: string;
  readonly created_at: string;
  readonly model: { readonly provider: string; readonly model_id: string };
  readonly turn: number;
  readonly items: readonly WireItem[];
  readonly in_flight: readonly WireBlock[];
  readonly run_id?: string;
  /** What the session is about: the start of its first prompt, or what a model has written. */
  readonly title?: string;
  readonly tools: readonly {
    readonly id: string;
    readonly name: string;
    readonly title: string;
    readonly text: string;
  }[];
  readonly shells: readonly {
    readonly shell_id: string;
    readonly command: string;
    readonly private: boolean;
  }[];
  readonly background?: readonly WireBackground[];
  readonly approvals: readonly WireApproval[];
  /** The ids of calls whose approval was denied. */
  readonly denied?: readonly string[];
  readonly queue: readonly WireQueued[];
  readonly todos: readonly WireTodo[];
  readonly settings: JsonObject;
  readonly compacting: boolean;
  readonly context_tokens: number;
  readonly context_window?: number;
  readonly cost?: number;
}
