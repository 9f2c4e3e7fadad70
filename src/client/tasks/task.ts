import {
  arrayOf,
  type JsonObject,
  numberOf,
  objectOf,
  stringOf,
  withoutUndefined,
} from '../../base/index.ts';

/** A task to submit. Unknown keys of `context` are passed on unchanged. */
export interface TaskRequest {
  readonly sessionId: string;
  readonly userPrompt: string;
  readonly taskType: string;
  readonly context?: JsonObject;
}

/** The result of a submission. */
export interface SubmittedTask {
  readonly taskId: string;
  readonly status: 'accepted' | 'rejected';
  readonly message?: string;
}

/** The status of a task. */
export interface TaskStatus {
  readonly taskId: string;
  readonly status: 'pending' | 'in_progress' | 'completed' | 'failed';
  /** 0 to 100, if the server reports it. */
  readonly progress?: number;
  readonly result?: JsonObject;
  readonly errorMessage?: string;
  /** A more precise state, such as `waiting_approval`, if the server reports it. */
  readonly state?: string;
  readonly sessionId?: string;
  /** The prompt or its start, if the server reports it. */
  readonly userPrompt?: string;
}

/** An entry of the task list. */
export interface ListedTask {
  readonly taskId: string;
  readonly sessionId: string;
  readonly status: string;
  readonly state: string;
  readonly updatedAt: string;
  /** The prompt or its start, and the agent's name, if the server reports them. */
  readonly userPrompt?: string;
  readonly agentName?: string;
}

/** A pending approval. */
export interface TaskApproval {
  readonly approvalId: string;
  readonly sessionId: string;
  readonly tool: string;
  /** The call in one line, which may be truncated. */
  readonly title: string;
  /** The complete arguments as JSON text, if the server reports them. */
  readonly arguments?: string;
  readonly requestedAt: string;
}

/** An event of a task: a line of the extended Pod Protocol, and the id to resume after. */
export interface TaskEvent {
  readonly id?: string;
  readonly event: string;
  readonly data: JsonObject;
  readonly seq?: number;
}

/** Whether the task has completed or failed. */
export function isFinished({ status }: Pick<TaskStatus, 'status'>): boolean {
  return status === 'completed' || status === 'failed';
}

/** Returns undefined if the body is not a submission response. */
export function parseSubmission(body: JsonObject): SubmittedTask | undefined {
  const { taskId, status, message } = body;
  if (typeof taskId !== 'string' || (status !== 'accepted' && status !== 'rejected')) return undefined;
  return { taskId, status, ...(typeof message === 'string' && { message }) };
}

/** Returns undefined if the body is not a task status. */
export function parseStatus(body: JsonObject): TaskStatus | undefined {
  const { taskId, state, sessionId, errorMessage, result, userPrompt } = body;
  const status = STATUSES.find((word) => word === body.status);
  if (typeof taskId !== 'string' || status === undefined) return undefined;
  const progress = numberOf(body.progress);
  return {
    taskId,
    status,
    ...withoutUndefined({ progress }),
    ...(result !== undefined && { result: objectOf(result) }),
    ...(typeof errorMessage === 'string' && { errorMessage }),
    ...(typeof state === 'string' && { state }),
    ...(typeof sessionId === 'string' && { sessionId }),
    ...(typeof userPrompt === 'string' && { userPrompt }),
  };
}

export function parseTasks(body: JsonObject): readonly ListedTask[] {
  return arrayOf(body.tasks)
    .map(objectOf)
    .map((task) => ({
      taskId: stringOf(task.taskId),
      sessionId: stringOf(task.sessionId),
      status: stringOf(task.status),
      state: stringOf(task.state) || stringOf(task.status),
      updatedAt: stringOf(task.updatedAt),
      ...(typeof task.userPrompt === 'string' && { userPrompt: task.userPrompt }),
      ...(typeof task.agentName === 'string' && { agentName: task.agentName }),
    }));
}

export function parseApprovals(body: JsonObject): readonly TaskApproval[] {
  return arrayOf(body.approvals)
    .map(objectOf)
    .map((approval) => ({
      approvalId: stringOf(approval.approvalId),
      sessionId: stringOf(approval.sessionId),
      tool: stringOf(approval.tool),
      title: stringOf(approval.title),
      ...(typeof approval.arguments === 'string' && { arguments: approval.arguments }),
      requestedAt: stringOf(approval.requestedAt),
    }));
}

const STATUSES = ['pending', 'in_progress', 'completed', 'failed'] as const;
