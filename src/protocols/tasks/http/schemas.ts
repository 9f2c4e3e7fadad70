import type { JsonObject } from '../../../base/index.ts';
import { DECISION } from '../work/approvals.ts';
import { SUBMIT } from '../work/submit-request.ts';
import { STATES, STATUSES } from '../work/task-status.ts';
import { TICKET_REQUEST } from './ticket-request.ts';

const text: JsonObject = { type: 'string' };
const amount: JsonObject = { type: 'number', minimum: 0 };
const time: JsonObject = { type: 'string', format: 'date-time' };

const object = (properties: JsonObject, required: readonly string[]): JsonObject => ({
  type: 'object',
  properties,
  required,
});
const list = (items: JsonObject): JsonObject => ({ type: 'array', items });

const STATUS: JsonObject = { type: 'string', enum: STATUSES };
const STATE: JsonObject = { type: 'string', enum: STATES };

const USAGE = object(
  { inputTokens: amount, outputTokens: amount, turns: amount, toolCalls: amount, cost: amount },
  ['inputTokens', 'outputTokens', 'turns', 'toolCalls'],
);

const SESSION = object(
  {
    sessionId: text,
    podId: text,
    state: { type: 'string', enum: ['idle', 'running', 'waiting', 'paused'] },
    workingDirectory: text,
    createdAt: time,
    updatedAt: time,
    queued: amount,
    usage: USAGE,
  },
  ['sessionId', 'podId', 'state', 'workingDirectory', 'createdAt', 'updatedAt', 'queued', 'usage'],
);

const TASK_LINE = object(
  {
    taskId: text,
    sessionId: text,
    status: STATUS,
    state: STATE,
    updatedAt: time,
    userPrompt: { type: 'string', description: 'The prompt, truncated if it is long.' },
    agentName: { type: 'string', description: 'The agent that it was submitted to.' },
  },
  ['taskId', 'sessionId', 'status', 'state', 'updatedAt'],
);

const APPROVAL = object(
  {
    approvalId: text,
    sessionId: text,
    tool: text,
    title: { type: 'string', description: 'The call in one line, which may be truncated.' },
    arguments: { type: 'string', description: 'All arguments of the call, as JSON text.' },
    reason: text,
    requestedAt: time,
    deadline: time,
  },
  ['approvalId', 'sessionId', 'tool', 'title', 'requestedAt'],
);

/** All request and response schemas, by their name in the OpenAPI document. */
export const SCHEMAS = {
  SubmitRequest: SUBMIT.schema,
  SubmitReply: object(
    { taskId: text, status: { type: 'string', enum: ['accepted', 'rejected'] }, message: text },
    ['taskId', 'status'],
  ),
  TaskStatus: object(
    {
      taskId: text,
      status: STATUS,
      progress: { type: 'number', minimum: 0, maximum: 100 },
      result: { type: 'object', additionalProperties: true },
      errorMessage: text,
      state: STATE,
      sessionId: text,
    },
    ['taskId', 'status'],
  ),
  TaskList: object({ tasks: list(TASK_LINE) }, ['tasks']),
  Session: SESSION,
  SessionList: object({ sessions: list(SESSION) }, ['sessions']),
  ApprovalList: object({ approvals: list(APPROVAL) }, ['approvals']),
  Decision: DECISION.schema,
  Decided: object({ approvalId: text, decision: { type: 'string', enum: ['approve', 'deny'] } }, [
    'approvalId',
    'decision',
  ]),
  TicketRequest: TICKET_REQUEST.schema,
  StreamTicket: object(
    {
      ticket: text,
      url: { type: 'string', description: 'The URL of the stream with the ticket, relative to the agent.' },
      expiresAt: time,
    },
    ['ticket', 'url', 'expiresAt'],
  ),
  Usage: object(
    { total: USAGE, sessions: list(object({ sessionId: text, usage: USAGE }, ['sessionId', 'usage'])) },
    ['total', 'sessions'],
  ),
  AgentStatus: object(
    {
      agentName: text,
      role: text,
      status: { type: 'string', enum: ['idle', 'busy', 'error'] },
      currentTask: text,
      version: text,
      running: amount,
      pending: amount,
    },
    ['agentName', 'role', 'status', 'version', 'running', 'pending'],
  ),
  Health: object({ status: { type: 'string', enum: ['ok', 'draining'] } }, ['status']),
  Document: { ...object({ openapi: text }, ['openapi']), additionalProperties: true },
  Error: object(
    {
      error: object({ code: text, message: text, details: { type: 'object', additionalProperties: true } }, [
        'code',
        'message',
      ]),
    },
    ['error'],
  ),
} as const satisfies Readonly<Record<string, JsonObject>>;

export type SchemaName = keyof typeof SCHEMAS;
