import { withoutUndefined } from '../../base/index.ts';
import { httpRefusal } from '../../wire/index.ts';
import { wrongField } from './errors.ts';
import { CURSOR_PATTERN } from './stream/cursor.ts';
import { createTicket, streamSession, streamTask } from './stream/event-streams.ts';
import type { RouteCall, Parameter, RawReply, Route } from './http/route.ts';
import { sessionLine, sumOf, usageOf } from './work/session-lines.ts';
import { readSubmit } from './work/submit-request.ts';
import { agentName } from './settings.ts';
import { STATUSES } from './work/task-status.ts';
import { SESSION_EVENTS, TASK_EVENTS } from './http/ticket-request.ts';
import type { TaskStatusReply } from './wire.ts';

const EVENTS: RawReply = {
  type: 'text/event-stream',
  about: 'Server-sent events: `data` is a line of the extended Pod Protocol, {"event", "data", "seq"}.',
};
const RESUME: Pick<Route, 'query' | 'headers'> = {
  query: {
    after: {
      about: 'The number or id of the last event that was received.',
      schema: { type: 'string', pattern: CURSOR_PATTERN },
    },
  },
  headers: {
    'Last-Event-ID': {
      about: 'The same, as a browser sends it when it reconnects.',
      schema: { type: 'string', pattern: `^$|${CURSOR_PATTERN}` },
    },
  },
};
const LONGEST_KEY = 200;
const MOST_LISTED = 1_000;
const USUALLY_LISTED = 100;
const LIMIT: Parameter = {
  about: 'The maximum number of results.',
  schema: { type: 'integer', minimum: 1, maximum: MOST_LISTED, default: USUALLY_LISTED },
};
const OF_SESSION: Parameter = { about: 'Only those of this session.', schema: { type: 'string' } };

/** All endpoints. */
export const ROUTES: readonly Route[] = [
  {
    method: 'POST',
    path: '/submit_task',
    operationId: 'submitTask',
    refusals: [409, 503],
    summary: 'Submits a task. Tasks of one session run in order.',
    scope: 'submit',
    body: 'SubmitRequest',
    headers: {
      'Idempotency-Key': {
        about: 'Repeating a task with the same key submits it once.',
        schema: { type: 'string', minLength: 1, maxLength: LONGEST_KEY },
      },
    },
    reply: 'SubmitReply',
    answer: async (call, { tasks }) => {
      const reply = await tasks.submit(call.key, readSubmit(call.body), idempotencyKey(call));
      return { json: reply, audit: { target: reply.taskId, result: reply.status } };
    },
  },
  {
    method: 'GET',
    path: '/tasks/{taskId}/status',
    operationId: 'getTaskStatus',
    summary: 'The status of a task, and its result.',
    scope: 'read',
    reply: 'TaskStatus',
    answer: async ({ key, params }, { tasks }) => ({
      json: await tasks.status(key, params.get('taskId') ?? ''),
    }),
  },
  {
    method: 'GET',
    path: TASK_EVENTS,
    operationId: 'streamTaskEvents',
    alsoAllows: 'tickets',
    refusals: [503],
    summary: 'The events of a task, from its first to its last. 204 for a client that has received the last.',
    scope: 'read',
    ...RESUME,
    reply: EVENTS,
    answer: streamTask,
  },
  {
    method: 'POST',
    path: '/tasks/{taskId}/cancel',
    operationId: 'cancelTask',
    refusals: [409],
    summary: 'Removes a task from the queue, or cancels its run.',
    scope: 'submit',
    reply: 'TaskStatus',
    answer: async ({ key, params }, { tasks }) => {
      const taskId = params.get('taskId') ?? '';
      return { json: await tasks.cancel(key, taskId), audit: { target: taskId } };
    },
  },
  {
    method: 'GET',
    path: '/tasks',
    operationId: 'listTasks',
    summary: 'The last tasks of each session, newest first.',
    scope: 'read',
    query: {
      sessionId: OF_SESSION,
      status: { about: 'Only those with this status.', schema: { type: 'string', enum: STATUSES } },
      limit: LIMIT,
    },
    reply: 'TaskList',
    answer: async ({ key, query }, { tasks }) => {
      const [sessionId, status] = [query.get('sessionId'), statusIn(query)];
      const all = await tasks.list(key, {
        ...(sessionId !== null && { sessionId }),
        ...withoutUndefined({ status }),
      });
      return { json: { tasks: all.slice(0, limitIn(query)) } };
    },
  },
  {
    method: 'GET',
    path: '/sessions',
    operationId: 'listSessions',
    summary: 'Sessions, most recently used first.',
    scope: 'read',
    query: { limit: LIMIT },
    reply: 'SessionList',
    answer: async ({ key, query }, { sessions }) => {
      const rows = (await sessions.list(key)).slice(0, limitIn(query));
      return { json: { sessions: rows.map((row) => sessionLine(key, row, sessions)) } };
    },
  },
  {
    method: 'GET',
    path: '/sessions/{sessionId}',
    operationId: 'getSession',
    summary: 'One session.',
    scope: 'read',
    reply: 'Session',
    answer: async ({ key, params }, { sessions }) => ({
      json: sessionLine(key, sessions.get(key, params.get('sessionId') ?? ''), sessions),
    }),
  },
  {
    method: 'GET',
    path: SESSION_EVENTS,
    operationId: 'streamSessionEvents',
    alsoAllows: 'tickets',
    refusals: [503],
    summary: 'The events of a session: after a snapshot, or after a number.',
    scope: 'read',
    ...RESUME,
    reply: EVENTS,
    answer: streamSession,
  },
  {
    method: 'POST',
    path: '/stream_tickets',
    operationId: 'createStreamTicket',
    summary:
      'A ticket that opens one stream of events once, within a minute, without a key in a header: for EventSource in browsers.',
    scope: 'read',
    body: 'TicketRequest',
    reply: 'StreamTicket',
    answer: createTicket,
  },
  {
    method: 'GET',
    path: '/approvals',
    operationId: 'listApprovals',
    summary: 'Pending approvals.',
    scope: 'read',
    query: { sessionId: OF_SESSION },
    reply: 'ApprovalList',
    answer: async ({ key, query }, { approvals }) => ({
      json: { approvals: await approvals.list(key, query.get('sessionId') ?? undefined) },
    }),
  },
  {
    method: 'POST',
    path: '/approvals/{approvalId}/decide',
    operationId: 'decideApproval',
    refusals: [409],
    summary: 'Decides an approval. The first decision counts.',
    scope: 'approve',
    body: 'Decision',
    reply: 'Decided',
    answer: async ({ key, params, body }, { approvals }) => {
      const approvalId = params.get('approvalId') ?? '';
      const decision = await approvals.decide(key, approvalId, body);
      return {
        json: { approvalId, decision },
        audit: { target: approvalId, result: decision },
      };
    },
  },
  {
    method: 'GET',
    path: '/usage',
    operationId: 'getUsage',
    summary: 'Tokens and costs of the sessions.',
    scope: 'read',
    reply: 'Usage',
    answer: async ({ key }, { sessions }) => {
      const rows = await sessions.list(key);
      const each = rows.map((row) => ({ sessionId: sessions.nameFor(key, row), usage: usageOf(row) }));
      return { json: { total: sumOf(each.map(({ usage }) => usage)), sessions: each } };
    },
  },
  {
    method: 'GET',
    path: '/status',
    operationId: 'getAgentStatus',
    summary: 'The current work of the agent.',
    scope: 'read',
    reply: 'AgentStatus',
    answer: async ({ key }, { settings, tasks }) => {
      const { running, pending, current } = await tasks.work(key);
      return {
        json: {
          agentName: agentName(settings),
          role: 'coordinator',
          status: running > 0 ? 'busy' : 'idle',
          ...withoutUndefined({ currentTask: current }),
          version: settings.version,
          running,
          pending,
        },
      };
    },
  },
  {
    method: 'GET',
    path: '/health',
    operationId: 'getHealth',
    alsoAllows: 'this-machine',
    summary:
      'Whether the agent is up and accepts tasks; from this machine also without a key: whether it is up.',
    scope: 'read',
    reply: 'Health',
    answer: async (_, { settings }) => ({
      json: { status: settings.isDraining?.() === true ? 'draining' : 'ok' },
    }),
  },
  {
    method: 'GET',
    path: '/metrics',
    operationId: 'getMetrics',
    summary: 'Metrics for Prometheus.',
    scope: 'admin',
    reply: { type: 'text/plain', about: 'The text format of Prometheus.' },
    answer: async (_, { settings, sessions, streams, refused }) => {
      const own = [
        '# HELP polypod_tasks_pending Pending tasks.',
        '# TYPE polypod_tasks_pending gauge',
        `polypod_tasks_pending ${sessions.pending}`,
        '# HELP polypod_tasks_streams Open streams.',
        '# TYPE polypod_tasks_streams gauge',
        `polypod_tasks_streams ${streams.size}`,
        '',
      ].join('\n');
      const daemon = (await settings.monitoring?.metrics()) ?? '';
      const text = `${daemon}${own}${refused.metric('polypod_tasks_refused_total')}`;
      return { text, type: 'text/plain; version=0.0.4; charset=utf-8' };
    },
  },
  {
    method: 'GET',
    path: '/openapi.json',
    operationId: 'getOpenApi',
    summary: 'This document.',
    scope: 'read',
    reply: 'Document',
    answer: async (_, { document }) => ({ json: document }),
  },
  {
    method: 'GET',
    path: '/ws',
    operationId: 'openWebSocket',
    alsoAllows: 'subprotocols',
    refusals: [426, 503],
    summary: 'The same over WebSocket: subscribe, prompt, cancel, decide.',
    scope: 'read',
    reply: { type: 'websocket', about: 'The connection is a WebSocket from now on.' },
    answer: async () => {
      throw httpRefusal(426, 'upgrade_required', 'this is a WebSocket: connect with ws:// or wss://', {
        headers: { upgrade: 'websocket' },
      });
    },
  },
];

function idempotencyKey({ headers }: RouteCall): string | undefined {
  const key = headers['idempotency-key'];
  if (key === undefined) return undefined;
  if (typeof key === 'string' && key !== '' && key.length <= LONGEST_KEY) return key;
  throw wrongField('Idempotency-Key', `must be text of at most ${LONGEST_KEY} characters`);
}

function statusIn(query: URLSearchParams): TaskStatusReply['status'] | undefined {
  const text = query.get('status');
  if (text === null) return undefined;
  const status = STATUSES.find((word) => word === text);
  if (status !== undefined) return status;
  throw wrongField('status', `must be one of ${STATUSES.join(', ')}, not "${text}"`);
}

function limitIn(query: URLSearchParams): number {
  const text = query.get('limit');
  if (text === null) return USUALLY_LISTED;
  if (/^\d{1,4}$/.test(text) && Number(text) >= 1 && Number(text) <= MOST_LISTED) return Number(text);
  throw wrongField('limit', `must be a number from 1 to ${MOST_LISTED}`);
}
