import type { PermissionMode } from '../../pod/index.ts';
import type { JsonObject } from '../../base/index.ts';

export const TASK_TYPES = ['chat', 'command_execution', 'file_operation', 'complex_task'] as const;
export type TaskType = (typeof TASK_TYPES)[number];

/** The body of `POST /submit_task`. Other keys are passed over, here and in `context`. */
export interface SubmitRequest {
  readonly sessionId: string;
  readonly userPrompt: string;
  readonly taskType: TaskType;
  readonly context?: WireContext;
}

/** What of `context` means something to us. */
export interface WireContext {
  readonly workingDirectory?: string;
  /** A reference such as `groq/llama-3.3-70b`. */
  readonly model?: string;
  readonly permissionMode?: PermissionMode;
  /** Paths beside the working directory. */
  readonly allowedPaths?: readonly string[];
  /** Files that the task is about. */
  readonly files?: readonly string[];
  readonly maxTurns?: number;
  /** In USD. */
  readonly budget?: number;
}

/** A task that is rejected has an id too; nothing is known under it afterwards. */
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
  /** Extra: what the four words above cannot tell apart. */
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
  /** Its command was not allowed to run. */
  | 'denied'
  | 'interrupted'
  | 'limited';

/** `{text, usage}`, `{stdout, stderr, exitCode}` or `{text, changes}`, by the type of the task. */
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
  /** In USD; absent where a model's price is not known. */
  readonly cost?: number;
}

export interface TaskLine {
  readonly taskId: string;
  readonly sessionId: string;
  readonly status: TaskStatusReply['status'];
  readonly state: TaskState;
  readonly updatedAt: string;
  /** What was asked, or its beginning; absent for tasks of earlier versions. */
  readonly userPrompt?: string;
  /** The agent that it was submitted to. */
  readonly agentName?: string;
}

export interface SessionLine {
  readonly sessionId: string;
  /** The pod's own id, by which other doors know it. */
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
  /** The call in a line, which may be cut: what is decided are the arguments. */
  readonly title: string;
  /** All that the call would be given, JSON text; absent while another process has the session open, which then decides. */
  readonly arguments?: string;
  /** Why it is asked. */
  readonly reason?: string;
  readonly requestedAt: string;
  readonly deadline?: string;
}

export interface ErrorReply {
  readonly error: {
    readonly code: string;
    readonly message: string;
    /** `field` names what is wrong; `fields` all of it. */
    readonly details?: JsonObject;
  };
}

/** An event of a session: a line of the extended Pod Protocol. */
export interface StreamLine {
  readonly event: string;
  readonly data: object;
  /** The number of the last event that it covers; what only answers has none. */
  readonly seq?: number;
}
