import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { schemaProblems } from '../../../src/base/index.ts';
import { startTasks } from '../../../src/protocols/tasks/listener.ts';
import { SCHEMAS } from '../../../src/protocols/tasks/http/schemas.ts';
import { SEED_STATUS_REPLY, SEED_SUBMIT_REPLY } from './seed-schemas.ts';
import { calls, Client, textAnswer, STALLS, task, tasksFixture } from './fixture.ts';

describe('submitting a task', () => {
  it('is accepted, and its result is available', async () => {
    const client = (await tasksFixture([textAnswer('Hello.')])).client();
    const { status, body, headers } = await client.post('/submit_task', task());
    expect(status).toBe(200);
    expect(schemaProblems(body, SEED_SUBMIT_REPLY)).toEqual([]);
    expect(headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
    const done = await client.done(String(body.taskId));
    expect(schemaProblems(done, SEED_STATUS_REPLY)).toEqual([]);
    expect(done).toMatchObject({
      taskId: body.taskId,
      status: 'completed',
      progress: 100,
      result: { text: 'Hello.', usage: { turns: 1, toolCalls: 0 } },
      sessionId: 's1',
    });
  });

  it('of the type chat gives the model no tools', async () => {
    const { client, sim } = await tasksFixture([textAnswer('Hello.')]);
    const ada = client();
    await ada.done(await ada.submit());
    expect(sim.requests[0]?.body).not.toHaveProperty('tools');
  });

  it('of the type command_execution runs the prompt as a command, and returns stdout and stderr separately', async () => {
    const { client, sim } = await tasksFixture([], {
      agent: { mode: 'full-access' },
      tasks: { mode: 'full-access' },
    });
    const ada = client();
    const taskId = await ada.submit({
      taskType: 'command_execution',
      userPrompt: 'echo hi; echo oh >&2; exit 3',
    });
    const { result } = await ada.done(taskId);
    expect(result).toEqual({ stdout: 'hi\n', stderr: 'oh\n', exitCode: 3 });
    expect(sim.requests).toEqual([]);
  });

  it('of the type command_execution is subject to the policy', async () => {
    const { client, cwd } = await tasksFixture([]);
    const ada = client();
    const taskId = await ada.submit({ taskType: 'command_execution', userPrompt: 'node -e 1 > made' });
    await ada.until(taskId, 'waiting_approval');
    const { body } = await ada.get<{
      approvals: readonly { approvalId: string; sessionId: string; tool: string; arguments: string }[];
    }>('/approvals');
    expect(body.approvals).toMatchObject([{ sessionId: 's1', tool: 'bash' }]);
    const decide = `/approvals/${body.approvals[0]?.approvalId}/decide`;
    expect((await ada.post(decide, { decision: 'approve' })).status).toBe(200);
    await ada.done(taskId);
    expect(readFileSync(join(cwd, 'made'), 'utf8')).toBe('');
    const late = await ada.post(decide, { decision: 'deny' });
    expect(late.status).toBe(409);
    expect(JSON.stringify(late.body)).toContain('ada');
  });

  it('requests approval with the complete command, however long it is', async () => {
    const { client, restart } = await tasksFixture([]);
    const ada = client();
    const command = `touch z1\n${'true && '.repeat(60)}rm -rf important`;
    const taskId = await ada.submit({ taskType: 'command_execution', userPrompt: command });
    await ada.until(taskId, 'waiting_approval');
    const asked = async () =>
      (await ada.get<{ approvals: readonly { arguments: string }[] }>('/approvals')).body;
    const before = await asked();
    expect(schemaProblems(before, SCHEMAS.ApprovalList)).toEqual([]);
    expect(before.approvals.map((approval) => JSON.parse(approval.arguments))).toMatchObject([{ command }]);
    await restart();
    expect(await asked()).toEqual(before);
  });

  it('of the type file_operation lists the changes, with diffs', async () => {
    const { client, sim } = await tasksFixture([
      calls('write', { path: 'a.txt', content: 'one\n' }),
      textAnswer('Written.'),
    ]);
    const ada = client();
    const taskId = await ada.submit({ taskType: 'file_operation', userPrompt: 'Write a file.' });
    const { result } = await ada.done(taskId);
    expect(result).toMatchObject({ text: 'Written.', changes: [{ path: 'a.txt', tool: 'write' }] });
    expect(JSON.stringify(result)).toContain('+one');
    expect(JSON.stringify(sim.requests[0]?.body)).not.toContain('"bash"');
  });

  it('of a type that this agent does not support is rejected with a reason, and creates no session', async () => {
    const ada = (await tasksFixture([], { withoutCommands: true })).client();
    const { status, body } = await ada.post('/submit_task', task({ taskType: 'command_execution' }));
    expect({ status, body }).toMatchObject({ status: 200, body: { status: 'rejected' } });
    expect(schemaProblems(body, SEED_SUBMIT_REPLY)).toEqual([]);
    expect(body.message).toBe('this agent does not execute commands');
    expect((await ada.get('/sessions')).body).toEqual({ sessions: [] });
  });

  it.each([
    [{}, 'sessionId'],
    [task({ sessionId: ' ' }), 'sessionId'],
    [task({ sessionId: 'x'.repeat(201) }), 'sessionId'],
    [{ sessionId: 's1', userPrompt: 7, taskType: 'chat' }, 'userPrompt'],
    [{ sessionId: 's1', userPrompt: 'x', taskType: 'chats' }, 'taskType'],
    [task({ context: 'here' }), 'context'],
    [task({ context: { workingDirectory: 'relative' } }), 'context.workingDirectory'],
    [task({ context: { model: 'nothing' } }), 'context.model'],
    [task({ context: { maxTurns: 0 } }), 'context.maxTurns'],
    [task({ context: { allowedPaths: [1] } }), 'context.allowedPaths.0'],
  ])('is refused with the name of the field: %j', async (body, field) => {
    const answer = await (await tasksFixture([])).client().post('/submit_task', body);
    expect(answer.status).toBe(400);
    expect(answer.body).toMatchObject({ error: { code: 'invalid_request', details: { field } } });
  });

  it('is rejected with the reason when the tools cannot be loaded', async () => {
    const { client } = await tasksFixture([], { agent: { toolsProblem: 'no space left on device' } });
    const { status, body } = await client().post('/submit_task', task());
    expect({ status, body }).toMatchObject({
      status: 200,
      body: { status: 'rejected', message: 'the tools cannot be loaded: no space left on device' },
    });
  });

  it('ignores unknown keys', async () => {
    const ada = (await tasksFixture([textAnswer('Hello.')])).client();
    await ada.done(await ada.submit({ more: 1, context: { editor: 'vi' } }));
  });

  it('runs in the directory of its context, and stays there', async () => {
    const { client, cwd } = await tasksFixture([textAnswer('One.'), textAnswer('Two.')]);
    const ada = client();
    mkdirSync(join(cwd, 'sub'));
    await ada.done(await ada.submit({ context: { workingDirectory: join(cwd, 'sub') } }));
    const { body } = await ada.get('/sessions/s1');
    expect(body).toMatchObject({ workingDirectory: join(cwd, 'sub'), state: 'idle' });
    const other = await ada.post('/submit_task', task({ context: { workingDirectory: cwd } }));
    expect(other.status).toBe(409);
  });

  it.each([
    ['a directory elsewhere', { workingDirectory: '/etc' }, 'context.workingDirectory'],
    ['paths elsewhere', { allowedPaths: ['/'] }, 'context.allowedPaths.0'],
    ['a mode that permits more', { permissionMode: 'full-access' }, 'context.permissionMode'],
  ])('is refused if it requests more than its key permits: %s', async (_, context, field) => {
    const answer = await (await tasksFixture([])).client().post('/submit_task', task({ context }));
    expect(answer.status).toBe(403);
    expect(answer.body).toMatchObject({ error: { code: 'outside_key', details: { field } } });
  });

  it.each([
    ['read-only', undefined, 'workspace-write', 403],
    ['read-only', 'workspace-write', 'workspace-write', 200],
    ['full-access', undefined, 'full-access', 403],
    ['full-access', undefined, 'workspace-write', 200],
  ] as const)(
    'with agents at %s and the door at %s is permitted %s: %i',
    async (usual, mode, permissionMode, status) => {
      const tasks = { defaultMode: () => usual, ...(mode && { mode }) };
      const { client } = await tasksFixture([textAnswer('Hello.')], { tasks });
      const answer = await client().post('/submit_task', task({ context: { permissionMode } }));
      expect(answer.status).toBe(status);
    },
  );

  it('is refused a model that its key may not use', async () => {
    const { client } = await tasksFixture([textAnswer('Hello.')]);
    const ada = client({ limits: { models: ['small'] } });
    const answer = await ada.post('/submit_task', task({ context: { model: 'large' } }));
    expect(answer.status).toBe(403);
    await ada.done(await ada.submit({ context: { model: 'small' } }));
  });

  it('runs the tasks of one session in order, and those of other sessions concurrently', async () => {
    const { client } = await tasksFixture(({ messages }) =>
      messages.at(-1)?.text === 'wait' ? STALLS : textAnswer(`done ${messages.length}`),
    );
    const ada = client();
    const first = await ada.submit({ userPrompt: 'wait' });
    const second = await ada.submit({ userPrompt: 'go' });
    const other = await ada.submit({ sessionId: 's2', userPrompt: 'go' });
    await ada.done(other);
    expect(await ada.until(second, 'pending')).toMatchObject({ status: 'pending', progress: 0 });
    const cancelled = await ada.post(`/tasks/${first}/cancel`);
    expect(cancelled.status).toBe(200);
    await ada.done(second);
    expect((await ada.get(`/tasks/${first}/status`)).body).toMatchObject({
      status: 'failed',
      state: 'cancelled',
      errorMessage: 'the task was cancelled',
    });
    const { body } = await ada.get<{ tasks: readonly { taskId: string }[] }>('/tasks');
    expect(new Set(body.tasks.map(({ taskId }) => taskId))).toEqual(new Set([first, second, other]));
    expect((await ada.post(`/tasks/${first}/cancel`)).status).toBe(409);
  });

  it('is rejected with a reason when too many are pending', async () => {
    const { client } = await tasksFixture([STALLS], { tasks: { limits: { pending: 1 } } });
    const ada = client();
    await ada.submit();
    const waiting = await ada.submit();
    const { status, body } = await ada.post('/submit_task', task());
    expect({ status, body }).toMatchObject({ status: 200, body: { status: 'rejected' } });
    expect(String(body.message)).toContain('already pending');
    await ada.post(`/tasks/${waiting}/cancel`);
    expect((await ada.get(`/tasks/${waiting}/status`)).body).toMatchObject({ state: 'cancelled' });
    await ada.submit();
  });

  it('is refused with 503 while the agent is about to stop', async () => {
    const { client } = await tasksFixture([], { tasks: { isDraining: () => true } });
    const ada = client();
    const { status, body, headers } = await ada.post('/submit_task', task());
    expect(status).toBe(503);
    expect(body).toMatchObject({ error: { code: 'draining' } });
    expect(headers.get('retry-after')).toBe('10');
    expect((await ada.get('/health')).body).toEqual({ status: 'draining' });
  });

  it('with an idempotency key runs once', async () => {
    const { client, sim, restart } = await tasksFixture([textAnswer('Hello.')]);
    const ada = client();
    const once = { 'idempotency-key': 'k1' };
    const taskId = await ada.submit({}, once);
    expect(await ada.submit({}, once)).toBe(taskId);
    await ada.done(taskId);
    await restart();
    expect(await ada.submit({}, once)).toBe(taskId);
    expect(sim.requests).toHaveLength(1);
    const other = await ada.post('/submit_task', task({ userPrompt: 'Other.' }), once);
    expect(other.status).toBe(409);
  });

  it('with an idempotency key is recorded once in the audit log', async () => {
    const { client, audited } = await tasksFixture([textAnswer('Done.')]);
    const ada = client();
    const once = { 'idempotency-key': 'k1' };
    const { body: first } = await ada.post('/submit_task', task(), once);
    expect((await ada.post('/submit_task', task(), once)).body).toEqual(first);
    expect((await audited()).filter(({ action }) => action === 'POST /submit_task')).toHaveLength(1);
  });

  it('with an idempotency key is checked again when its session was removed, or the agent is about to stop', async () => {
    let isDraining = false;
    const { client, host } = await tasksFixture([textAnswer('One.'), textAnswer('Two.')], {
      tasks: { isDraining: () => isDraining },
    });
    const ada = client();
    const once = { 'idempotency-key': 'k1' };
    const first = await ada.submit({}, once);
    await ada.done(first);
    const [row] = await host.sessions.list();
    await host.delete(row?.id ?? '');
    const second = await ada.submit({}, once);
    expect(second).not.toBe(first);
    await ada.done(second);
    isDraining = true;
    expect((await ada.post('/submit_task', task(), once)).status).toBe(503);
  });
});

describe('the status of a task', () => {
  it('contains the reason of a failure', async () => {
    const { client } = await tasksFixture([{ parts: [], fault: { kind: '401' } }]);
    const ada = client();
    const body = await ada.until(await ada.submit(), 'failed');
    expect(schemaProblems(body, SEED_STATUS_REPLY)).toEqual([]);
    expect(body).toMatchObject({ status: 'failed' });
    expect(String(body.errorMessage)).not.toBe('');
  });

  it('contains the progress by its list of steps, never decreasing, and 100 only at the end', async () => {
    const steps = (...done: readonly boolean[]) =>
      calls('todo', {
        items: done.map((isDone, at) => ({
          content: `Step ${at}`,
          status: isDone ? 'completed' : 'pending',
        })),
      });
    const { client } = await tasksFixture([
      steps(true, false, false, false),
      calls('write', { path: '/outside', content: '' }),
      steps(true, true),
      calls('write', { path: '/outside', content: '' }),
      steps(true, false, false, false, false),
      calls('write', { path: '/outside', content: '' }),
      textAnswer('Done.'),
    ]);
    const ada = client();
    const taskId = await ada.submit({ taskType: 'complex_task' });
    const progress: unknown[] = [];
    for (let at = 0; at < 3; at += 1) {
      await ada.until(taskId, 'waiting_approval');
      const { body } = await ada.get<{ approvals: readonly { approvalId: string }[] }>('/approvals');
      progress.push((await ada.get(`/tasks/${taskId}/status`)).body.progress);
      // A decision is recorded before its response, so the next status is newer.
      await ada.post(`/approvals/${body.approvals[0]?.approvalId}/decide`, { decision: 'deny' });
    }
    expect(progress).toEqual([25, 99, 99]);
    expect(await ada.done(taskId)).toMatchObject({ progress: 100 });
  });

  it('is the same after a restart', async () => {
    const { client, restart } = await tasksFixture([textAnswer('Hello.'), textAnswer('Again.')]);
    const ada = client();
    const first = await ada.done(await ada.submit());
    const second = await ada.done(await ada.submit());
    expect(second.result).toMatchObject({ text: 'Again.', usage: { turns: 1 } });
    await restart();
    expect((await ada.get(`/tasks/${String(first.taskId)}/status`)).body).toEqual(first);
    expect((await ada.get(`/tasks/${String(second.taskId)}/status`)).body).toEqual(second);
  });

  it('reports that it was interrupted by a kill', async () => {
    const { client, restart } = await tasksFixture([STALLS]);
    const ada = client();
    const taskId = await ada.submit();
    await ada.until(taskId, 'running');
    await restart('kill');
    expect((await ada.get(`/tasks/${taskId}/status`)).body).toMatchObject({
      status: 'failed',
      state: 'interrupted',
    });
  });

  it('waits for its approval also after a kill, and continues with it', async () => {
    const { client, restart, cwd } = await tasksFixture([]);
    const ada = client();
    const taskId = await ada.submit({ taskType: 'command_execution', userPrompt: 'node -e 1 > made' });
    await ada.until(taskId, 'waiting_approval');
    await restart('kill');
    await ada.until(taskId, 'waiting_approval');
    const { body } = await ada.get<{ approvals: readonly { approvalId: string }[] }>(
      '/approvals?sessionId=s1',
    );
    await ada.post(`/approvals/${body.approvals[0]?.approvalId}/decide`, { decision: 'approve' });
    expect(await ada.done(taskId)).toMatchObject({ result: { exitCode: 0 } });
    expect(readFileSync(join(cwd, 'made'), 'utf8')).toBe('');
  });
});

describe('owners', () => {
  it('have separate sessions under the same name, and do not see those of others', async () => {
    const { client } = await tasksFixture([textAnswer('For ada.'), textAnswer('For bob.')]);
    const ada = client();
    const bob = client({ owner: 'bob' });
    const adasTask = await ada.submit();
    await ada.done(adasTask);
    const bobsTask = await bob.submit();
    expect(await bob.done(bobsTask)).toMatchObject({ result: { text: 'For bob.' } });
    for (const path of [`/tasks/${adasTask}/status`, `/tasks/${adasTask}/events`])
      expect((await bob.get(path)).status).toBe(404);
    expect((await bob.post(`/tasks/${adasTask}/cancel`)).status).toBe(404);
    expect((await bob.get<{ sessions: unknown[] }>('/sessions')).body.sessions).toHaveLength(1);
    const { body } = await ada.get('/sessions/s1');
    expect((await bob.get(`/sessions/${String(body.podId)}`)).status).toBe(404);
    expect((await bob.post('/submit_task', task({ sessionId: body.podId }))).status).toBe(404);
    const granted = client({ owner: 'carol', grants: [String(body.podId)] });
    expect((await granted.get(`/tasks/${adasTask}/status`)).status).toBe(200);
    const admin = client({ owner: 'root', scopes: ['admin'] });
    expect((await admin.get<{ sessions: unknown[] }>('/sessions')).body.sessions).toHaveLength(2);
    expect((await admin.get(`/tasks/${bobsTask}/status`)).body).toMatchObject({ status: 'completed' });
  });

  it('keep their sessions with a new key', async () => {
    const { client } = await tasksFixture([textAnswer('Hello.')]);
    const taskId = await client().submit();
    await client().done(taskId);
  });
});

describe('an invalid parameter', () => {
  it('is reported by its kind: invalid text, invalid status', async () => {
    const ada = (await tasksFixture([])).client();
    expect((await ada.post('/submit_task', task({ sessionId: 5 }))).body).toMatchObject({
      error: { message: expect.stringMatching(/sessionId must be text of at most 200 characters, .* not 5/) },
    });
    expect(await ada.get('/tasks?status=bogus')).toMatchObject({
      status: 400,
      body: {
        error: {
          code: 'invalid_request',
          message: 'status must be one of pending, in_progress, completed, failed, not "bogus"',
          details: { field: 'status' },
        },
      },
    });
    expect((await ada.get('/tasks?status=completed')).body).toEqual({ tasks: [] });
  });
});

describe('the agent', () => {
  it('reports its work and its usage', async () => {
    const { client } = await tasksFixture([textAnswer('Hello.'), STALLS]);
    const ada = client();
    expect((await ada.get('/status')).body).toMatchObject({
      agentName: 'polypod',
      status: 'idle',
      running: 0,
    });
    await ada.done(await ada.submit());
    expect((await ada.get('/usage')).body).toMatchObject({
      total: { turns: 1 },
      sessions: [{ sessionId: 's1', usage: { turns: 1 } }],
    });
    const taskId = await ada.submit();
    await ada.until(taskId, 'running');
    expect((await ada.get('/status')).body).toMatchObject({
      status: 'busy',
      running: 1,
      currentTask: taskId,
    });
    const admin = client({ scopes: ['admin'] });
    const { body } = await admin.get<{ text: string }>('/metrics');
    expect(body.text).toContain('polypod_tasks_pending 0');
  });

  it("is not busy because of another agent's tasks in the same process", async () => {
    const { client, settings, keyFile } = await tasksFixture([STALLS, STALLS]);
    const ada = client();
    const door = await startTasks({ ...settings(), name: 'other', port: 0, keyFile });
    onTestFinished(() => door.close());
    const other = new Client(() => door.url, ada.key);
    const taskId = await ada.submit();
    await ada.until(taskId, 'running');
    await ada.submit();
    expect((await ada.get('/status')).body).toMatchObject({ status: 'busy', running: 1, pending: 1 });
    const { body } = await other.get('/status');
    expect(body).toMatchObject({ agentName: 'other', status: 'idle', running: 0, pending: 0 });
    expect(body).not.toHaveProperty('currentTask');
    const own = await other.submit({ sessionId: 's2' });
    await other.until(own, 'running');
    expect((await other.get('/status')).body).toMatchObject({ status: 'busy', running: 1, currentTask: own });
    expect((await ada.get('/status')).body).toMatchObject({ running: 1, currentTask: taskId });
  });

  it('counts no cost for a command', async () => {
    const { client } = await tasksFixture([], {
      agent: { mode: 'full-access' },
      tasks: { mode: 'full-access' },
    });
    const ada = client();
    await ada.done(await ada.submit({ taskType: 'command_execution', userPrompt: 'true' }));
    expect((await ada.get('/usage')).body).toMatchObject({
      total: { inputTokens: 0, outputTokens: 0, cost: 0 },
      sessions: [{ usage: { inputTokens: 0, outputTokens: 0, cost: 0 } }],
    });
  });

  it('records who did what, with a generated request id, and no key', async () => {
    const { client, audited, bare } = await tasksFixture([textAnswer('Hello.')]);
    const ada = client();
    const taskId = await ada.submit({}, { 'x-request-id': 'r-1' });
    const wrong = 'ppk_000000000000_wrongwrongwrongwrongwrong';
    await bare(wrong).get('/tasks');
    await ada.get('/nowhere', { 'x-request-id': wrong });
    const entries = await audited();
    expect(entries).toMatchObject([
      {
        event: 'request.accepted',
        door: 'tasks',
        by: 'ada',
        requestId: expect.stringMatching(/^[0-9a-f-]{36}$/),
        clientRequestId: 'r-1',
        action: 'POST /submit_task',
        target: taskId,
        outcome: 'allowed',
      },
      { event: 'request.refused', action: 'GET /tasks', outcome: 'unauthorized' },
      {
        event: 'request.refused',
        action: 'GET /nowhere',
        outcome: 'not_found',
        clientRequestId: '[redacted]',
      },
    ]);
    expect(JSON.stringify(entries)).not.toContain('ppk_');
  });
});
