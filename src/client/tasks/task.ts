import { arrayOf, type JsonObject, numberOf, objectOf, stringOf } from '../../base/index.ts';

/** What a task is to be. Other keys of `context` are passed on as they are. */
export interface TaskRequest {
  readonly sessionId: string;
  readonly userPrompt: string;
  readonly taskType: string;
  readonly context?: JsonObject;
}

/** What became of a submission. */
export interface SubmittedTask {
  readonly taskId: string;
  readonly status: 'accepted' | 'rejected';
  readonly message?: string;
}

/** Where a task stands, as the server says it. */
export interface TaskStatus {
  readonly taskId: string;
  readonly status: 'pending' | 'in_progress' | 'completed' | 'failed';
  /** 0 to 100, where the server knows. */
  readonly progress?: number;
  readonly result?: JsonObject;
  readonly errorMessage?: string;
  /** What the four words cannot tell apart, such as `waiting_approval`; servers that know no more leave it out. */
  readonly state?: string;
  readonly sessionId?: string;
  /** What was asked for, or its beginning, where the server tells. */
  readonly userPrompt?: string;
}

/** A line of the list of tasks. */
export interface ListedTask {
  readonly taskId: string;
  readonly sessionId: string;
  readonly status: string;
  readonly state: string;
  readonly updatedAt: string;
  /** What was asked for, or its beginning, and the agent it was submitted to, where the server tells. */
  readonly userPrompt?: string;
  readonly agentName?: string;
}

/** A question that waits for a person. */
export interface AskedApproval {
  readonly approvalId: string;
  readonly sessionId: string;
  readonly tool: string;
  /** The call in one line, which may be truncated. */
  readonly title: string;
  /** All that the call would be given, as JSON text, where the server tells. */
  readonly arguments?: string;
  readonly requestedAt: string;
}

/** An event of a task: a line of the extended Pod Protocol, and the id to go on after. */
export interface TaskEvent {
  readonly id?: string;
  readonly event: string;
  readonly data: JsonObject;
  readonly seq?: number;
}

/** Whether nothing will become of it any more. */
export function isOver({ status }: Pick<TaskStatus, 'status'>): boolean {
  return status === 'completed' || status === 'failed';
}

/** Undefined for what is no answer to a submission. */
export function submittedIn(body: JsonObject): SubmittedTask | undefined {
  const { taskId, status, message } = body;
  if (typeof taskId !== 'string' || (status !== 'accepted' && status !== 'rejected')) return undefined;
  return { taskId, status, ...(typeof message === 'string' && { message }) };
}

/** Undefined for what is no status. */
export function statusIn(body: JsonObject): TaskStatus | undefined {
  const { taskId, state, sessionId, errorMessage, result, userPrompt } = body;
  const status = STATUSES.find((word) => word === body.status);
  if (typeof taskId !== 'string' || status === undefined) return undefined;
  const progress = numberOf(body.progress);
  return {
    taskId,
    status,
    ...(progress !== undefined && { progress }),
    ...(result !== undefined && { result: objectOf(result) }),
    ...(typeof errorMessage === 'string' && { errorMessage }),
    ...(typeof state === 'string' && { state }),
    ...(typeof sessionId === 'string' && { sessionId }),
    ...(typeof userPrompt === 'string' && { userPrompt }),
  };
}

export function tasksIn(body: JsonObject): readonly ListedTask[] {
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

export function approvalsIn(body: JsonObject): readonly AskedApproval[] {
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
