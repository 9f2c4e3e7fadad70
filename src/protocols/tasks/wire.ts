import type { PermissionMode } from '../../pod/index.ts';
import type { JsonObject } from '../../base/index.ts';

export const TASK_TYPES = ['chat', 'command_execution', 'file_operation', 'complex_task'] as const;
export type TaskType = (typeof TASK_TYPES)[number];

/** The body of `POST /submit_task`. Other keys are ignored, here and in `context`. */
export interface SubmitRequest {
  readonly sessionId: string;
  readonly userPrompt: string;
  readonly taskType: TaskType;
  readonly context?: WireContext;
}

/** The keys of `context` that are used. */
export interface WireContext {
  readonly workingDirectory?: string;
  /** A reference such as `groq/llama-3.3-70b`. */
  readonly model?: string;
  readonly permissionMode?: PermissionMode;
  /** Paths in addition to the working directory. */
  readonly allowedPaths?: readonly string[];
  /** Files that the task refers to. */
  readonly files?: readonly string[];
  readonly maxTurns?: number;
  /** In USD. */
  readonly budget?: number;
}

/** A rejected task has an id too, but it cannot be looked up. */
export interface SubmitReply {
  readonly taskId: string;
  readonly status: 'accepted' | 'rejected';
  readonly message?: string;
}

export interface TaskStatusReply {
  readonly taskId: string;
  readonly status: 'pending' | 'in_progress' | 'completed' | 'failed';
  readonly progress?: number;
  readonly result?: JsonObject;
  readonly errorMessage?: string;
  /** Extra: distinguishes states that share one of the four statuses. */
  readonly state: TaskState;
  /** Extra. */
  readonly sessionId: string;
}

export type TaskState =
  | 'pending'
  | 'running'
  | 'waiting_approval'
  | 'paused'
  | 'succeeded'
  | 'failed'
  | 'cancelled'
  /** Its command was denied. */
  | 'denied'
  | 'interrupted'
  | 'limited';

/** `{text, usage}`, `{stdout, stderr, exitCode}` or `{text, changes}`, depending on the type of the task. */
export interface WireChange {
  readonly path: string;
  readonly tool: string;
  readonly diff?: string;
}

export interface WireUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly turns: number;
  readonly toolCalls: number;
  /** In USD; absent if a model's price is unknown. */
  readonly cost?: number;
}

export interface TaskLine {
  readonly taskId: string;
  readonly sessionId: string;
  readonly status: TaskStatusReply['status'];
  readonly state: TaskState;
  readonly updatedAt: string;
  /** The prompt, truncated if it is long; absent for tasks of earlier versions. */
  readonly userPrompt?: string;
  /** The agent that it was submitted to. */
  readonly agentName?: string;
}

export interface SessionLine {
  readonly sessionId: string;
  /** The pod id, which other doors use. */
  readonly podId: string;
  readonly state: 'idle' | 'running' | 'waiting' | 'paused';
  readonly workingDirectory: string;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly queued: number;
  readonly usage: WireUsage;
}

export interface ApprovalLine {
  readonly approvalId: string;
  readonly sessionId: string;
  readonly tool: string;
  /** The call in one line, which may be truncated: the decision applies to the arguments. */
  readonly title: string;
  /** All arguments of the call as JSON text; absent while another process has the session open, which then decides. */
  readonly arguments?: string;
  /** Why the approval is requested. */
  readonly reason?: string;
  readonly requestedAt: string;
  readonly deadline?: string;
}

export interface ErrorReply {
  readonly error: {
    readonly code: string;
    readonly message: string;
    /** `field` names the invalid field; `fields` lists all of them. */
    readonly details?: JsonObject;
  };
}

/** An event of a session: a line of the extended Pod Protocol. */
export interface StreamLine {
  readonly event: string;
  readonly data: object;
  /** The number of the last event that it covers; responses have none. */
  readonly seq?: number;
}
