import { Ajv2020 } from 'ajv/dist/2020.js';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/base/index.ts';
import { agentFixture, type AgentFixture } from '../../protocols/tasks/binary.ts';
import { ServedDocument } from '../../protocols/tasks/document.ts';
import {
  SEED_ERROR,
  SEED_STATUS_REPLY,
  SEED_SUBMIT_REPLY,
  SEED_SUBMIT_REQUEST,
} from '../../protocols/tasks/seed-schemas.ts';
import { type Answered, type Client, oddRequest, raw, STALLS, task } from '../../protocols/tasks/fixture.ts';
import { WsClient } from '../../protocols/tasks/ws-client.ts';
import { call, textAnswer } from '../daemon.ts';

const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false });

/** The parts of a value that the schema does not allow. */
function faults(schema: object, value: unknown): string {
  const validate = ajv.compile(schema);
  return validate(value) ? '' : ajv.errorsText(validate.errors);
}

function expectError({ status, body }: Answered, code: number, word: string): void {
  expect({ status, word: (body.error as JsonObject | undefined)?.code, body }).toMatchObject({
    status: code,
    word,
  });
  expect(faults(SEED_ERROR, body)).toBe('');
  expect(JSON.stringify(body)).not.toMatch(/\bat .*\.[jt]s:\d/);
}

async function submitted(client: Client, body: JsonObject): Promise<string> {
  expect(faults(SEED_SUBMIT_REQUEST, body)).toBe('');
  const answer = await client.post('/submit_task', body);
  expect(answer.status).toBe(200);
  expect(faults(SEED_SUBMIT_REPLY, answer.body)).toBe('');
  expect(answer.body).toMatchObject({ status: 'accepted' });
  return String(answer.body.taskId);
}

async function statusOf(client: Client, taskId: string): Promise<JsonObject> {
  const answer = await client.get(`/tasks/${taskId}/status`);
  expect(answer.status).toBe(200);
  expect(faults(SEED_STATUS_REPLY, answer.body)).toBe('');
  return answer.body;
}

describe('the protocol, against the built program', () => {
  it('accepts every task type, and returns every status with its fields', async () => {
    const fixture = await agentFixture([
      textAnswer('Hello.'),
      call('write', { path: 'a.txt', content: 'one\n' }),
      textAnswer('Written.'),
      call('delegate', { role: 'developer', instructions: 'Say it.' }),
      textAnswer('Said.'),
      textAnswer('All done.'),
      STALLS,
    ]);
    await fixture.agent();
    const ada = fixture.client();

    const chat = await submitted(ada, task());
    await ada.done(chat);
    expect(await statusOf(ada, chat)).toMatchObject({
      ...{ taskId: chat, status: 'completed', progress: 100, state: 'succeeded', sessionId: 's1' },
      result: { text: 'Hello.', usage: { turns: 1, toolCalls: 0 } },
    });

    const command = await submitted(
      ada,
      task({ taskType: 'command_execution', userPrompt: 'pwd; ls /nowhere-at-all; exit 4' }),
    );
    await ada.until(command, 'waiting_approval').catch(() => {});
    await approveAll(ada);
    await ada.done(command);
    const { result } = await statusOf(ada, command);
    expect(result).toEqual({
      stdout: `${fixture.project}\n`,
      stderr: expect.stringContaining('/nowhere-at-all'),
      exitCode: 4,
    });

    const file = await submitted(ada, task({ taskType: 'file_operation', userPrompt: 'Write.' }));
    await ada.done(file);
    expect((await statusOf(ada, file)).result).toMatchObject({
      text: 'Written.',
      changes: [{ path: 'a.txt', tool: 'write', diff: expect.stringContaining('+one') }],
    });
    expect(readFileSync(join(fixture.project, 'a.txt'), 'utf8')).toBe('one\n');

    const complex = await submitted(ada, task({ taskType: 'complex_task', sessionId: 's2' }));
    await ada.done(complex);
    expect((await statusOf(ada, complex)).result).toMatchObject({
      text: 'All done.',
      usage: { toolCalls: 1 },
    });

    const running = await submitted(ada, task({ sessionId: 's3', context: { anything: { at: 'all' } } }));
    await ada.until(running, 'running');
    expect(await statusOf(ada, running)).toEqual({
      ...{ taskId: running, status: 'in_progress', state: 'running', sessionId: 's3' },
    });
    const waiting = await submitted(ada, task({ sessionId: 's3' }));
    expect(await statusOf(ada, waiting)).toMatchObject({ status: 'pending', progress: 0 });
    expect((await ada.get('/status')).body).toMatchObject({
      status: 'busy',
      currentTask: running,
      pending: 1,
    });
    await ada.post(`/tasks/${waiting}/cancel`);
    await ada.post(`/tasks/${running}/cancel`);
    await ada.until(running, 'cancelled').catch(() => {});
    for (const id of [waiting, running])
      expect(await statusOf(ada, id)).toMatchObject({
        status: 'failed',
        errorMessage: 'the task was cancelled',
      });
  });

  it('rejects tasks that exceed the queue, with an id and a reason', async () => {
    const fixture = await agentFixture([STALLS]);
    fixture.configure('tasks: { limits: { pending: 1 } }\n');
    await fixture.agent();
    const ada = fixture.client();
    await submitted(ada, task());
    await submitted(ada, task());
    const { status, body } = await ada.post('/submit_task', task());
    expect(status).toBe(200);
    expect(faults(SEED_SUBMIT_REPLY, body)).toBe('');
    expect(body).toMatchObject({
      status: 'rejected',
      message: '1 tasks are already pending: try again later',
    });
  });

  it('returns a known task for its idempotency key when the queue is full, and rejects new ones', async () => {
    const fixture = await agentFixture([STALLS]);
    fixture.configure('tasks: { limits: { pending: 1 } }\n');
    await fixture.agent();
    const ada = fixture.client();
    const [running, waiting, other] = [task(), task({ sessionId: 's1' }), task({ userPrompt: 'Another.' })];
    const under = (key: string) => ({ 'idempotency-key': key });
    const first = await ada.submit(running, under('first'));
    const second = await ada.submit(waiting, under('second'));
    for (const [body, key, taskId] of [
      [running, 'first', first],
      [waiting, 'second', second],
    ] as const)
      expect((await ada.post('/submit_task', body, under(key))).body).toEqual({ taskId, status: 'accepted' });
    expect((await ada.post('/submit_task', other, under('third'))).body).toMatchObject({
      status: 'rejected',
    });
    expect((await ada.post('/submit_task', other, under('second'))).status).toBe(409);
    expect((await ada.get('/tasks')).body.tasks).toHaveLength(2);
  });

  it('answers every route as the OpenAPI document specifies, without undocumented fields', async () => {
    const fixture = await agentFixture([textAnswer('Hello.')]);
    await fixture.agent();
    const ada = fixture.client(await fixture.newKey('--scope', 'admin', '--owner', 'ada'));
    const served = await ServedDocument.from(ada);
    expect(served.document.servers).toEqual([{ url: '/', description: expect.any(String) }]);
    const seen = new Set<string>();
    const ask = async (
      operationId: string,
      status: number,
      { path = '', body }: Asked = {},
    ): Promise<JsonObject> => {
      const at = served.operation(operationId);
      const stop = new AbortController();
      const response = await fetch(`${ada.url}${path || at.path}`, {
        method: at.method,
        headers: { ...ada.headers, ...(body && { 'content-type': 'application/json' }) },
        ...(body && { body: JSON.stringify(body) }),
        signal: stop.signal,
      });
      const type = response.headers.get('content-type') ?? '';
      const text = type.startsWith('text/event-stream') ? '' : await response.text();
      stop.abort();
      expect({
        operationId,
        status: response.status,
        surprises: served.surprises(at, response, text),
      }).toEqual({
        operationId,
        status,
        surprises: '',
      });
      if (status < 400) seen.add(operationId);
      return type.startsWith('application/json') ? (JSON.parse(text) as JsonObject) : {};
    };

    const { taskId } = await ask('submitTask', 200, { body: task() });
    await ada.done(String(taskId));
    const command = task({ sessionId: 's2', taskType: 'command_execution', userPrompt: 'rm -r build' });
    const asks = String((await ask('submitTask', 200, { body: command })).taskId);
    await ada.until(asks, 'waiting_approval');
    const queued = String((await ask('submitTask', 200, { body: command })).taskId);
    await ask('getTaskStatus', 200, { path: `/tasks/${String(taskId)}/status` });
    await ask('getTaskStatus', 200, { path: `/tasks/${queued}/status` });
    await ask('listTasks', 200, { path: '/tasks?status=completed&sessionId=s1&limit=1' });
    await ask('listTasks', 200);
    await ask('listSessions', 200);
    await ask('getSession', 200, { path: '/sessions/s1' });
    await ask('getAgentStatus', 200);
    const { approvals } = (await ask('listApprovals', 200)) as { approvals?: readonly JsonObject[] };
    const approval = `/approvals/${String(approvals?.[0]?.approvalId)}/decide`;
    await ask('cancelTask', 200, { path: `/tasks/${queued}/cancel` });
    await ask('decideApproval', 200, { path: approval, body: { decision: 'deny', comment: 'No.' } });
    await ada.until(asks, 'denied');
    await ask('getTaskStatus', 200, { path: `/tasks/${asks}/status` });
    await ask('getUsage', 200);
    await ask('getHealth', 200);
    await ask('getMetrics', 200);
    await ask('getOpenApi', 200);
    await ask('streamTaskEvents', 200, { path: `/tasks/${asks}/events` });
    await ask('streamTaskEvents', 204, { path: `/tasks/${asks}/events?after=999999` });
    await ask('streamSessionEvents', 200, { path: '/sessions/s1/events' });
    await ask('createStreamTicket', 200, { body: { taskId: asks } });
    const socket = new WsClient(ada.url, ['polypod', `bearer.${ada.key}`]);
    await socket.opened;
    expect(served.operation('openWebSocket').responses).toHaveProperty('101');
    seen.add('openWebSocket');
    expect([...seen].toSorted((a, b) => a.localeCompare(b))).toEqual(
      served.operations.map(({ operationId }) => operationId).toSorted((a, b) => a.localeCompare(b)),
    );

    await ask('submitTask', 400, { body: task({ taskType: 'odd' }) });
    await ask('submitTask', 403, { body: task({ context: { workingDirectory: '/' } }) });
    await ask('cancelTask', 409, { path: `/tasks/${asks}/cancel` });
    await ask('decideApproval', 409, { path: approval, body: { decision: 'approve' } });
    await ask('getSession', 404, { path: '/sessions/none' });
    await ask('openWebSocket', 426);
  });
});

interface Asked {
  readonly path?: string;
  readonly body?: JsonObject;
}

describe('protocol errors, against the built program', () => {
  it('have a status, an error code and a field, and the agent keeps running', async () => {
    const fixture = await agentFixture([textAnswer('Hello.')]);
    fixture.configure('tasks: { limits: { requests_per_minute: 60, burst: 60 } }\n');
    await fixture.agent();
    const ada = fixture.client();
    const { url } = fixture.record();
    const taskId = await ada.submit();
    // Polling would exceed the rate limit of the key.
    await (await ada.events(`/tasks/${taskId}/events`)).ended;

    const post = (body: unknown, headers = {}) => ada.post('/submit_task', body, headers);
    expectError(await post({ sessionId: 's1', userPrompt: 'x' }), 400, 'invalid_request');
    expect((await post({ sessionId: 's1', userPrompt: 'x' })).body).toMatchObject({
      error: { details: { field: 'taskType' } },
    });
    expectError(await post('{"sessionId":'), 400, 'malformed_json');
    expectError(await post(`${'['.repeat(50_000)}${']'.repeat(50_000)}`), 400, 'too_deep');
    expectError(await post(new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x7d])), 400, 'malformed_utf8');
    expectError(await post(task({ context: { workingDirectory: '/etc' } })), 403, 'outside_key');
    expectError(await post(task({ context: { permissionMode: 'full-access' } })), 403, 'outside_key');
    expectError(await post(`{"a":"${'x'.repeat(1024 * 1024)}"}`), 413, 'body_too_large');
    expectError(await post(task(), { 'content-type': 'text/plain' }), 415, 'unsupported_media_type');
    const polluting = `{"__proto__":{"scopes":["admin"]},"constructor":{"prototype":{"x":1}},${JSON.stringify(task({ taskType: 'none' })).slice(1)}`;
    expectError(await post(polluting), 400, 'invalid_request');

    const wrong = fixture.client('ppk_000000000000_wrongwrongwrongwrongwrong');
    expectError(await wrong.get('/tasks'), 401, 'unauthorized');
    expect((await oddRequest(url, '/tasks', {})).status).toBe(401);
    const reader = fixture.client(await fixture.newKey('--scope', 'read', '--owner', 'ada'));
    expectError(await reader.post('/submit_task', task()), 403, 'missing_scope');
    expectError(await reader.get('/metrics'), 403, 'missing_scope');
    const own = { 'x-api-key': ada.key ?? '' };
    const rebound = await oddRequest(url, '/tasks', { ...own, host: 'evil.example' });
    expect([rebound.status, rebound.body]).toEqual([403, expect.stringContaining('host_not_allowed')]);
    const foreign = await oddRequest(url, '/tasks', { ...own, origin: 'https://evil.example' });
    expect([foreign.status, foreign.body]).toEqual([403, expect.stringContaining('origin_not_allowed')]);

    const other = fixture.client(await fixture.newKey('--owner', 'bob'));
    expectError(await other.get(`/tasks/${taskId}/status`), 404, 'not_found');
    expectError(await other.get(`/tasks/${taskId}/events`), 404, 'not_found');
    expectError(await ada.get('/tasks/nothing/status'), 404, 'not_found');
    expectError(await ada.get('/nothing'), 404, 'not_found');
    expectError(await ada.get('/submit_task'), 405, 'method_not_allowed');
    expectError(await ada.post(`/tasks/${taskId}/cancel`), 409, 'task_over');
    expectError(await ada.get('/ws'), 426, 'upgrade_required');
    expect(await raw(url, 'no http\r\n\r\n')).toContain('malformed_request');

    const many = await Promise.all(Array.from({ length: 90 }, () => other.get('/tasks')));
    const refused = many.find(({ status }) => status === 429);
    expectError(refused ?? (await other.get('/health')), 429, 'rate_limited');
    expect((await ada.get('/health')).body).toEqual({ status: 'ok' });
    await expectQuietLog(fixture);
  });
});

/** Checks that no response hid an error and that no log contains a key. */
async function expectQuietLog(fixture: AgentFixture): Promise<void> {
  const log = readFileSync(join(fixture.dataDirectory, 'logs/polypod.log'), 'utf8');
  expect(log).not.toContain('"level":"error"');
  expect(log).not.toContain(fixture.client().key);
}

async function approveAll(client: Client): Promise<void> {
  const { body } = await client.get<{ approvals: readonly { approvalId: string }[] }>('/approvals');
  for (const { approvalId } of body.approvals)
    await client.post(`/approvals/${approvalId}/decide`, { decision: 'approve' });
}
