import { isObject, type JsonObject } from '../../base/index.ts';
import type { Totals } from '../../worker/index.ts';
import { REMEMBER_OPTIONS } from '../decision.ts';
import type { Settlement } from '../event.ts';
import { type Check, flag, list, number, optional, record, text, word } from './check.ts';

/** The states of a pod. */
export type RowState = 'idle' | 'running' | 'waiting' | 'paused';

/** An approval of a session, with its call. */
export interface ApprovalRow {
  readonly approvalId: string;
  readonly tool: string;
  /** The call on one line, possibly truncated. */
  readonly title: string;
  readonly requestedAt: string;
  readonly deadline?: string;
  /** Absent for an approval that a client requested. */
  readonly runId?: string;
  readonly callId?: string;
  /** The pod that makes the call, if it is a child of this session's pod. */
  readonly podId?: string;
  readonly podName?: string;
  /** JSON text. Absent if it is too long for a row, and in rows of earlier versions. */
  readonly arguments?: string;
  readonly reason?: string;
}

/** An approval with its outcome. */
export interface SettledApprovalRow extends ApprovalRow {
  readonly settlement: Settlement;
}

/** A task of a session and its state. */
export interface TaskRow {
  readonly taskId: string;
  readonly runId?: string;
  readonly status: string;
  readonly at: string;
  /** The prompt, truncated to 200 characters. */
  readonly prompt?: string;
  /** The agent that the task was submitted to over HTTP. */
  readonly agent?: string;
  /** Whether one of its calls was denied. */
  readonly denied?: boolean;
}

/** The most recent run. Without an end it is active, or was when the process crashed. */
export interface LastRun {
  readonly runId: string;
  readonly status: string;
  readonly startedAt?: string;
  readonly endedAt?: string;
  /** Why it failed or was cancelled. */
  readonly message?: string;
}

/** The data about a session that lists and searches use. Times are ISO 8601 in UTC. Keep rows small. */
export interface Row {
  readonly id: string;
  /** The session file: absolute, or relative to the data directory. */
  readonly file: string;
  readonly name?: string;
  /** The title that a model has written. */
  readonly title?: string;
  readonly cwd: string;
  readonly parentId?: string;
  /** Whether the session works for its parent; otherwise it is a fork. */
  readonly spawned?: boolean;
  readonly createdAt: string;
  readonly updatedAt: string;
  /** The agent that does the work; absent for our own worker. */
  readonly backend?: string;
  /** `provider/id`. */
  readonly model?: string;
  readonly state: RowState;
  readonly archived: boolean;
  /** Truncated to 200 characters. */
  readonly firstPrompt?: string;
  readonly lastText?: string;
  readonly totals: Totals;
  readonly lastRun?: LastRun;
  /** The pending approvals. */
  readonly approvals: readonly ApprovalRow[];
  /** The last 5 settled approvals of the session's own calls, without those that are too long for a row. */
  readonly settled?: readonly SettledApprovalRow[];
  /** The number of queued messages. */
  readonly queued: number;
  /** At most the last 100. */
  readonly tasks: readonly TaskRow[];
  /** The idempotency key under which the session was created. */
  readonly key?: string;
  /** Whether a client closed the session and nothing has happened in it since. */
  readonly closed?: boolean;
  readonly acceptEdits?: boolean;
  readonly skipPermissionsUntil?: string;
  /** As in the settings. */
  readonly annotations?: JsonObject;
}

const isTotals = record<Totals>({
  turns: number,
  toolCalls: number,
  inputTokens: number,
  outputTokens: number,
  cacheReadInputTokens: number,
  cacheCreationInputTokens: number,
  cost: optional(number),
});

const APPROVAL = {
  approvalId: text,
  tool: text,
  title: text,
  requestedAt: text,
  deadline: optional(text),
  runId: optional(text),
  callId: optional(text),
  podId: optional(text),
  podName: optional(text),
  arguments: optional(text),
  reason: optional(text),
};

const isApproval = record<ApprovalRow>(APPROVAL);

const isSettledApproval = record<SettledApprovalRow>({
  ...APPROVAL,
  settlement: record<Settlement>({
    status: word('approved', 'denied', 'expired', 'cancelled'),
    at: text,
    by: optional(text),
    door: optional(text),
    comment: optional(text),
    updatedArguments: optional(text),
    remember: optional(word(...REMEMBER_OPTIONS)),
  }),
});

const isTask = record<TaskRow>({
  taskId: text,
  runId: optional(text),
  status: text,
  at: text,
  prompt: optional(text),
  agent: optional(text),
  denied: optional(flag),
});

const isLastRun = record<LastRun>({
  runId: text,
  status: text,
  startedAt: optional(text),
  endedAt: optional(text),
  message: optional(text),
});

/** Whether a value is a row that Polypod wrote. Keys of later versions are allowed and preserved. */
export const isRow: Check<Row> = record<Row>({
  id: text,
  file: text,
  name: optional(text),
  title: optional(text),
  cwd: text,
  parentId: optional(text),
  spawned: optional(flag),
  createdAt: text,
  updatedAt: text,
  backend: optional(text),
  model: optional(text),
  state: word('idle', 'running', 'waiting', 'paused'),
  archived: flag,
  firstPrompt: optional(text),
  lastText: optional(text),
  totals: isTotals,
  lastRun: optional(isLastRun),
  approvals: list(isApproval),
  settled: optional(list(isSettledApproval)),
  queued: number,
  tasks: list(isTask),
  key: optional(text),
  closed: optional(flag),
  acceptEdits: optional(flag),
  skipPermissionsUntil: optional(text),
  annotations: optional(isObject),
});
