import { Type } from 'typebox';
import { withoutUndefined } from '../../base/index.ts';
import { httpRefusal } from '../../wire/index.ts';
import { CURSOR_PATTERN } from './stream/cursor.ts';
import { createTicket, streamSession, streamTask } from './stream/event-streams.ts';
import { type JsonReply, type RawReply, type Route, route } from './http/route.ts';
import { sessionLine, sumOf, usageOf } from './work/session-lines.ts';
import { agentName } from './settings.ts';
import { SESSION_EVENTS, TASK_EVENTS } from './http/ticket-request.ts';
import { choice, STATUSES, type SubmitReply } from './wire.ts';

const EVENTS: RawReply = {
  type: 'text/event-stream',
  about: 'Server-sent events: `data` is a line of the extended Pod Protocol, {"event", "data", "seq"}.',
};
const RESUME = {
  query: Type.Object({
    after: Type.Optional(
      Type.String({
        description: 'A number of an event, such as 12 or 12.1: the last one that was received.',
        pattern: CURSOR_PATTERN,
      }),
    ),
  }),
  headers: Type.Object({
    'last-event-id': Type.Optional(
      Type.String({
        description: 'A number of an event, such as 12 or 12.1: as a browser sends it when it reconnects.',
        pattern: `^$|${CURSOR_PATTERN}`,
      }),
    ),
  }),
};
const USUALLY_LISTED = 100;
const LIMIT = Type.Optional(
  Type.Integer({
    description: 'The maximum number of results.',
    minimum: 1,
    maximum: 1_000,
    default: USUALLY_LISTED,
  }),
);
const OF_SESSION = Type.Optional(Type.String({ description: 'Only those of this session.' }));

function submitted(reply: SubmitReply): JsonReply {
  return { json: reply, audit: { target: reply.taskId, result: reply.status } };
}

/** All endpoints. */
export const ROUTES: readonly Route[] = [
  route({
    method: 'POST',
    path: '/submit_task',
    operationId: 'submitTask',
    refusals: [409, 503],
    summary: 'Submits a task. Tasks of one session run in order.',
    scope: 'submit',
    body: 'SubmitRequest',
    headers: Type.Object({
      'idempotency-key': Type.Optional(
        Type.String({
          description: 'Text of at most 200 characters: repeating a task with the same key submits it once.',
          minLength: 1,
          maxLength: 200,
        }),
      ),
    }),
    reply: 'SubmitReply',
    answer: ({ key, body, headers }, { tasks }) => {
      const sent = headers['idempotency-key'];
      const idempotencyKey = typeof sent === 'string' ? sent : undefined;
      const repeated = tasks.repeatedReply(key, body, idempotencyKey);
      if (repeated !== undefined) return { ...submitted(repeated), isConstant: true };
      return tasks.submit(key, body, idempotencyKey).then(submitted);
    },
  }),
  route({
    method: 'GET',
    path: '/tasks/{taskId}/status',
    operationId: 'getTaskStatus',
    summary: 'The status of a task, and its result.',
    scope: 'read',
    reply: 'TaskStatus',
    answer: ({ key, id }, { tasks }) => {
      const ended = tasks.endedStatus(key, id);
      return ended === undefined
        ? tasks.status(key, id).then((json) => ({ json }))
        : { json: ended, isConstant: true };
    },
  }),
  route({
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
  }),
  route({
    method: 'POST',
    path: '/tasks/{taskId}/cancel',
    operationId: 'cancelTask',
    refusals: [409],
    summary: 'Removes a task from the queue, or cancels its run.',
    scope: 'submit',
    reply: 'TaskStatus',
    answer: async ({ key, id }, { tasks }) => ({
      json: await tasks.cancel(key, id),
      audit: { target: id },
    }),
  }),
  route({
    method: 'GET',
    path: '/tasks',
    operationId: 'listTasks',
    summary: 'The last tasks of each session, newest first.',
    scope: 'read',
    query: Type.Object({
      sessionId: OF_SESSION,
      status: Type.Optional(choice(STATUSES, 'Only those with this status.')),
      limit: LIMIT,
    }),
    reply: 'TaskList',
    answer: async ({ key, query }, { tasks }) => {
      const { sessionId, status, limit = USUALLY_LISTED } = query;
      const all = await tasks.list(key, withoutUndefined({ sessionId, status }));
      return { json: { tasks: all.slice(0, limit) } };
    },
  }),
  route({
    method: 'GET',
    path: '/sessions',
    operationId: 'listSessions',
    summary: 'Sessions, most recently used first.',
    scope: 'read',
    query: Type.Object({ limit: LIMIT }),
    reply: 'SessionList',
    answer: async ({ key, query: { limit = USUALLY_LISTED } }, { sessions }) => {
      const rows = (await sessions.list(key)).slice(0, limit);
      return { json: { sessions: rows.map((row) => sessionLine(key, row, sessions)) } };
    },
  }),
  route({
    method: 'GET',
    path: '/sessions/{sessionId}',
    operationId: 'getSession',
    summary: 'One session.',
    scope: 'read',
    reply: 'Session',
    answer: async ({ key, id }, { sessions }) => ({
      json: sessionLine(key, sessions.get(key, id), sessions),
    }),
  }),
  route({
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
  }),
  route({
    method: 'POST',
    path: '/stream_tickets',
    operationId: 'createStreamTicket',
    summary:
      'A ticket that opens one stream of events once, within a minute, without a key in a header: for EventSource in browsers.',
    scope: 'read',
    body: 'TicketRequest',
    reply: 'StreamTicket',
    answer: createTicket,
  }),
  route({
    method: 'GET',
    path: '/approvals',
    operationId: 'listApprovals',
    summary: 'Pending approvals.',
    scope: 'read',
    query: Type.Object({ sessionId: OF_SESSION }),
    reply: 'ApprovalList',
    answer: async ({ key, query }, { approvals }) => ({
      json: { approvals: await approvals.list(key, query.sessionId) },
    }),
  }),
  route({
    method: 'POST',
    path: '/approvals/{approvalId}/decide',
    operationId: 'decideApproval',
    refusals: [409],
    summary: 'Decides an approval. The first decision counts.',
    scope: 'approve',
    body: 'Decision',
    reply: 'Decided',
    answer: async ({ key, id: approvalId, body }, { approvals }) => {
      const decision = await approvals.decide(key, approvalId, body);
      return {
        json: { approvalId, decision },
        audit: { target: approvalId, result: decision },
      };
    },
  }),
  route({
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
  }),
  route({
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
  }),
  route({
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
  }),
  route({
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
  }),
  route({
    method: 'GET',
    path: '/openapi.json',
    operationId: 'getOpenApi',
    summary: 'This document.',
    scope: 'read',
    reply: 'Document',
    answer: async (_, { document }) => ({ json: await document() }),
  }),
  route({
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
  }),
];
