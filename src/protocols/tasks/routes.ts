import { httpRefusal } from '../../wire/index.ts';
import { wrongField } from './errors.ts';
import { streamSession, streamTask } from './event-streams.ts';
import type { Call, Route } from './route.ts';
import { sessionLine, sumOf, usageOf } from './session-lines.ts';
import { readSubmit } from './submit-wish.ts';
import { agentName } from './settings.ts';
import { STATUSES } from './task-status.ts';
import type { TaskStatusReply } from './wire.ts';

const EVENTS = { type: 'text/event-stream' };
const RESUME = {
  query: { after: 'The number or id of the last event that was seen.' },
  headers: { 'Last-Event-ID': 'The same, as a browser sends it when it comes back.' },
};

/** All that can be asked for. */
export const ROUTES: readonly Route[] = [
  {
    method: 'POST',
    path: '/submit_task',
    summary: 'Submits a task. Tasks of one session run in order.',
    scope: 'submit',
    body: 'SubmitRequest',
    headers: { 'Idempotency-Key': 'The same key with the same task submits it once.' },
    reply: 'SubmitReply',
    answer: async (call, { tasks }) => {
      const reply = await tasks.submit(call.key, readSubmit(call.body), idempotencyKey(call));
      return { json: reply, audit: { target: reply.taskId, result: reply.status } };
    },
  },
  {
    method: 'GET',
    path: '/tasks/{taskId}/status',
    summary: 'Where a task stands, and what came out of it.',
    scope: 'read',
    reply: 'TaskStatus',
    answer: async ({ key, params }, { tasks }) => ({
      json: await tasks.status(key, params.get('taskId') ?? ''),
    }),
  },
  {
    method: 'GET',
    path: '/tasks/{taskId}/events',
    summary: 'The events of a task, from its first to its last. 204 for a client that has seen the last.',
    scope: 'read',
    ...RESUME,
    reply: EVENTS,
    answer: streamTask,
  },
  {
    method: 'POST',
    path: '/tasks/{taskId}/cancel',
    summary: 'Takes a task out of the queue, or ends its run.',
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
    summary: 'The last tasks of each session, newest first.',
    scope: 'read',
    query: {
      sessionId: 'Of this session only.',
      status: `With this status only: ${STATUSES.join(', ')}.`,
      limit: 'How many; 100.',
    },
    reply: 'TaskList',
    answer: async ({ key, query }, { tasks }) => {
      const [sessionId, status] = [query.get('sessionId'), statusIn(query)];
      const all = await tasks.list(key, {
        ...(sessionId !== null && { sessionId }),
        ...(status !== undefined && { status }),
      });
      return { json: { tasks: all.slice(0, limitIn(query)) } };
    },
  },
  {
    method: 'GET',
    path: '/sessions',
    summary: 'Sessions, the last used first.',
    scope: 'read',
    query: { limit: 'How many; 100.' },
    reply: 'SessionList',
    answer: async ({ key, query }, { sessions }) => {
      const rows = (await sessions.list(key)).slice(0, limitIn(query));
      return { json: { sessions: rows.map((row) => sessionLine(key, row, sessions)) } };
    },
  },
  {
    method: 'GET',
    path: '/sessions/{sessionId}',
    summary: 'One session.',
    scope: 'read',
    reply: 'Session',
    answer: async ({ key, params }, { sessions }) => ({
      json: sessionLine(key, sessions.get(key, params.get('sessionId') ?? ''), sessions),
    }),
  },
  {
    method: 'GET',
    path: '/sessions/{sessionId}/events',
    summary: 'The events of a session: a snapshot first, or all that came after a number.',
    scope: 'read',
    ...RESUME,
    reply: EVENTS,
    answer: streamSession,
  },
  {
    method: 'GET',
    path: '/approvals',
    summary: 'Questions that wait for a person.',
    scope: 'read',
    query: { sessionId: 'Of this session only.' },
    reply: 'ApprovalList',
    answer: async ({ key, query }, { approvals }) => ({
      json: { approvals: await approvals.list(key, query.get('sessionId') ?? undefined) },
    }),
  },
  {
    method: 'POST',
    path: '/approvals/{approvalId}/decide',
    summary: 'Answers a question. The first answer counts.',
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
    summary: 'What the agent is doing.',
    scope: 'read',
    reply: 'AgentStatus',
    answer: async ({ key }, { settings, tasks }) => {
      const { running, pending, current } = await tasks.work(key);
      return {
        json: {
          agentName: agentName(settings),
          role: 'coordinator',
          status: running > 0 ? 'busy' : 'idle',
          ...(current !== undefined && { currentTask: current }),
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
    summary:
      'Whether the agent is up and takes tasks; from this machine also without a key: whether it is up.',
    scope: 'read',
    reply: 'Health',
    answer: async (_, { settings }) => ({
      json: { status: settings.isDraining?.() === true ? 'draining' : 'ok' },
    }),
  },
  {
    method: 'GET',
    path: '/metrics',
    summary: 'Figures for Prometheus.',
    scope: 'admin',
    reply: { type: 'text/plain' },
    answer: async (_, { settings, sessions, streams, refused }) => {
      const own = [
        '# HELP polypod_tasks_pending Tasks that wait.',
        '# TYPE polypod_tasks_pending gauge',
        `polypod_tasks_pending ${sessions.pending}`,
        '# HELP polypod_tasks_streams Streams that are open.',
        '# TYPE polypod_tasks_streams gauge',
        `polypod_tasks_streams ${streams.size}`,
        '',
      ].join('\n');
      const daemon = (await settings.vitals?.metrics()) ?? '';
      const text = `${daemon}${own}${refused.metric('polypod_tasks_refused_total')}`;
      return { text, type: 'text/plain; version=0.0.4; charset=utf-8' };
    },
  },
  {
    method: 'GET',
    path: '/openapi.json',
    summary: 'This document.',
    scope: 'read',
    reply: 'Document',
    answer: async (_, { document }) => ({ json: document }),
  },
  {
    method: 'GET',
    path: '/ws',
    summary: 'The same by WebSocket: subscribe, prompt, cancel, decide.',
    scope: 'read',
    reply: { type: 'application/json' },
    answer: async () => {
      throw httpRefusal(426, 'upgrade_required', 'this is a WebSocket: connect with ws:// or wss://', {
        headers: { upgrade: 'websocket' },
      });
    },
  },
];

function idempotencyKey({ headers }: Call): string | undefined {
  const key = headers['idempotency-key'];
  if (key === undefined) return undefined;
  if (typeof key === 'string' && key !== '' && key.length <= 200) return key;
  throw wrongField('Idempotency-Key', 'must be text of at most 200 characters');
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
  if (text === null) return 100;
  if (/^\d{1,4}$/.test(text) && Number(text) >= 1 && Number(text) <= 1_000) return Number(text);
  throw wrongField('limit', 'must be a number from 1 to 1000');
}
