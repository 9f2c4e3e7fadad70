import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../../src/base/index.ts';
import { type AgentFixture, agentFixture } from '../binary.ts';
import { type Client, task } from '../fixture.ts';
import { WsClient } from '../ws-client.ts';

const idOf = (key: string): string => key.split('_')[1] ?? '';

interface Listed {
  readonly id: string;
  readonly state: string;
  readonly lastUsedAt?: string;
  readonly expiresAt?: string;
  readonly rotatedTo?: string;
  readonly fourEyes?: boolean;
}

async function listed(fixture: AgentFixture): Promise<readonly Listed[]> {
  return JSON.parse((await fixture.polypod('keys', 'list', '--json')).stdout) as Listed[];
}

/** A command that needs approval because no rule allows it. */
const asking = (sessionId: string, file = 'made'): JsonObject => ({
  sessionId,
  taskType: 'command_execution',
  userPrompt: `node -e 1 > ${file}`,
});

async function approvalIn(client: Client, taskId: string, sessionId: string): Promise<string> {
  await client.until(taskId, 'waiting_approval');
  const { body } = await client.get<{ approvals: readonly { approvalId: string }[] }>(
    `/approvals?sessionId=${sessionId}`,
  );
  return body.approvals[0]?.approvalId ?? '';
}

async function stateOf(client: Client, taskId: string): Promise<JsonObject> {
  return (await client.get(`/tasks/${taskId}/status`)).body;
}

async function untilOver(client: Client, taskId: string): Promise<JsonObject> {
  for (;;) {
    const body = await stateOf(client, taskId);
    if (body.status === 'failed' || body.status === 'completed') return body;
  }
}

/** The tests start many processes, one after the other, on a machine that may be busy. */
const BUSY_MS = 120_000;

describe('a key (built program)', () => {
  it('expires: it is refused, its streams end, and that is recorded', { timeout: BUSY_MS }, async () => {
    const fixture = await agentFixture();
    await fixture.agent();
    const own = fixture.client();
    const taskId = await own.submit(asking('s1'));
    await own.until(taskId, 'waiting_approval');
    const key = await fixture.newKey('--owner', 'ada', '--scope', 'read', '--expires', '3s');
    const reader = fixture.client(key);
    const stream = await reader.events('/sessions/s1/events');
    await stream.waitFor('snapshot');
    // No request is sent meanwhile.
    await stream.ended;
    expect(stream.received.at(-1)?.line.data).toMatchObject({ message: 'the key has expired' });
    expect(await reader.get('/tasks')).toMatchObject({
      status: 401,
      body: {
        error: { message: 'the key has expired: request a new one, or use the one that replaced it' },
      },
    });
    expect((await fixture.polypod('keys', 'list')).stdout).toMatch(
      new RegExp(`${idOf(key)} .*expired \\d{4}-`),
    );
    expect((await fixture.polypod('audit', '--event', 'key.expired', '--json')).stdout).toContain(idOf(key));
    for (const [args, message] of [
      [['create', '--expires', '2001-01-01'], 'is in the past'],
      [['create', '--expires', 'soon'], '--expires takes a date'],
      [['create', '--overlap', '1h'], '--overlap is for keys rotate'],
      [['create', '--directory', '/nowhere'], '--directory /nowhere is not a directory'],
      [['rotate', idOf(key)], `the key ${idOf(key)} is expired`],
    ] as const)
      expect(await fixture.polypod('keys', ...args)).toMatchObject({
        code: 2,
        stderr: expect.stringContaining(message),
      });
  });

  it('is rotated with an overlap, keeps its permissions, and its last use is recorded', {
    timeout: BUSY_MS,
  }, async () => {
    const fixture = await agentFixture();
    await fixture.agent();
    const key = await fixture.newKey(
      '--owner',
      'ci',
      '--scope',
      'read',
      '--mode',
      'read-only',
      '--expires',
      '30d',
    );
    const rotated = await fixture.polypod('keys', 'rotate', idOf(key), '--overlap', '1h');
    expect(rotated.code).toBe(0);
    const next = rotated.stdout.trim();
    expect(rotated.stderr).toContain(`${idOf(next)} replaces ${idOf(key)} of ci, which expires `);
    for (const one of [key, next]) expect((await fixture.client(one).get('/tasks')).status).toBe(200);
    expect((await fixture.client(next).post('/submit_task', task())).status).toBe(403);
    const all = await listed(fixture);
    expect(all.find(({ id }) => id === idOf(next))).toMatchObject({
      owner: 'ci',
      limits: { mode: 'read-only' },
      rotatedFrom: idOf(key),
      expiresAt: expect.any(String),
    });
    expect(all.find(({ id }) => id === idOf(key))).toMatchObject({ rotatedTo: idOf(next), state: 'good' });
    expect((await fixture.polypod('keys', 'rotate', idOf(key))).stderr).toContain('was rotated already');

    // Without an overlap the old key ends at once. The user's own commands continue with the new one.
    const own = readFileSync(fixture.keyFile, 'utf8').trim();
    expect((await fixture.polypod('keys', 'rotate', idOf(own), '--overlap', '0s')).stderr).toContain(
      'tasks/client.key has the new key',
    );
    expect((await fixture.client(own).get('/tasks')).status).toBe(401);
    expect((await fixture.polypod('task', 'list')).code).toBe(0);

    expect((await fixture.polypod('stop')).code).toBe(0);
    const used = await listed(fixture);
    expect(Date.parse(used.find(({ id }) => id === idOf(key))?.lastUsedAt ?? '')).toBeGreaterThan(
      Date.now() - 60_000,
    );
    expect((await fixture.polypod('audit', '--event', 'key.rotated', '--json')).stdout).toContain(idOf(next));
    expect(readFileSync(join(fixture.dataDirectory, 'tasks/key-uses.json'), 'utf8')).not.toContain(key);
  });

  it('submits or approves, over HTTP and WebSocket, and with four eyes its owner cannot approve', {
    timeout: BUSY_MS,
  }, async () => {
    const fixture = await agentFixture();
    await fixture.agent();
    const newKey = async (owner: string, scope: string, ...more: string[]): Promise<Client> =>
      fixture.client(await fixture.newKey('--owner', owner, '--scope', scope, ...more));
    const submitter = await newKey('ada', 'submit,read', '--four-eyes');
    const sameOwner = await newKey('ada', 'read,approve');
    const approver = await newKey('bob', 'approve,read,admin');
    const onlyApproves = await newKey('ada', 'approve');
    const taskId = await submitter.submit(asking('s1'));
    const approvalId = await approvalIn(submitter, taskId, 's1');
    const path = `/approvals/${approvalId}/decide`;
    const socketOf = async (client: Client): Promise<WsClient> => {
      const socket = new WsClient(client.url, ['polypod'], { headers: client.headers });
      await socket.opened;
      return socket;
    };
    const approve = { decision: 'approve' };

    // Permissions are separate over both HTTP and WebSocket.
    const lacks = { code: 'missing_scope' };
    expect(await submitter.post(path, approve)).toMatchObject({ status: 403, body: { error: lacks } });
    const submitting = await socketOf(submitter);
    expect(await submitting.ask('decide', { approvalId, ...approve })).toMatchObject({ data: lacks });
    expect(await sameOwner.post('/submit_task', task())).toMatchObject({
      status: 403,
      body: { error: lacks },
    });
    const approving = await socketOf(sameOwner);
    for (const method of ['prompt', 'cancel'])
      expect(await approving.ask(method, { ...task(), taskId })).toMatchObject({ data: lacks });
    expect(await onlyApproves.get('/approvals')).toMatchObject({ status: 403 });

    // The owner of the key cannot approve, with any key or door.
    const refusal = {
      message: expect.stringContaining('ada submitted this task and cannot approve it (four eyes)'),
    };
    expect(await sameOwner.post(path, approve)).toMatchObject({ status: 403, body: { error: refusal } });
    expect(await approving.ask('decide', { approvalId, ...approve })).toMatchObject({ data: refusal });
    const command = await fixture.polypod('approvals', 'approve', approvalId);
    expect(command.code).not.toBe(0);
    expect(command.stderr).toContain('four eyes');
    expect(existsSync(join(fixture.project, 'made'))).toBe(false);
    expect((await fixture.polypod('audit', '--event', 'approval.refused', '--json')).stdout).toContain(
      'four eyes',
    );
    expect((await approver.post(path, approve)).status).toBe(200);
    await submitter.done(taskId);
    expect(existsSync(join(fixture.project, 'made'))).toBe(true);

    // Denying one's own request is not an approval.
    const second = await submitter.submit(asking('s1'));
    const denied = await approvalIn(submitter, second, 's1');
    expect((await sameOwner.post(`/approvals/${denied}/decide`, { decision: 'deny' })).status).toBe(200);
    expect((await listed(fixture)).find(({ id }) => id === idOf(submitter.key ?? ''))?.fourEyes).toBe(true);
  });
});

describe('a revoked key (built program)', () => {
  const config = (fixture: AgentFixture): string => {
    const file = join(fixture.home, 'agent.yaml');
    writeFileSync(file, `directory: ${fixture.project}\nmode: full-access\n`);
    return file;
  };

  it('has its running tasks cancelled or paused, as chosen, and its pending ones never start', {
    timeout: BUSY_MS,
  }, async () => {
    const fixture = await agentFixture();
    await fixture.agent('--config', config(fixture));
    const other = fixture.client();
    const waits = (sessionId: string, go: string): JsonObject => ({
      sessionId,
      taskType: 'command_execution',
      userPrompt: `touch began-${go}; until [ -e ${go} ]; do sleep 0.05; done`,
    });
    const begun = async (go: string): Promise<void> => {
      await expect.poll(() => existsSync(join(fixture.project, `began-${go}`))).toBe(true);
    };
    const [one, two, three] = await Promise.all(
      ['one', 'two', 'three'].map(() => fixture.newKey('--owner', 'ada', '--scope', 'submit,read')),
    );
    const tasks: string[] = [];
    for (const [at, key] of [one, two, three].entries()) {
      const client = fixture.client(key);
      tasks.push(await client.submit(waits(`s${at}`, `go${at}`)));
      tasks.push(await client.submit({ ...waits(`s${at}`, `go${at}`), userPrompt: `touch late${at}` }));
    }
    const kept = await other.submit(waits('own', 'own'));
    for (const go of ['go0', 'go1', 'go2', 'own']) await begun(go);

    expect((await fixture.polypod('keys', 'revoke', idOf(one ?? ''))).stderr).toContain(
      'its tasks are cancelled',
    );
    expect(await untilOver(other, tasks[0] ?? '')).toMatchObject({ state: 'cancelled' });
    expect(await untilOver(other, tasks[1] ?? '')).toMatchObject({ status: 'failed' });

    await fixture.polypod('keys', 'revoke', idOf(two ?? ''), '--tasks', 'pause');
    expect(await untilOver(other, tasks[3] ?? '')).toMatchObject({ status: 'failed' });
    writeFileSync(join(fixture.project, 'go1'), '');
    await other.until(tasks[2] ?? '', 'paused');

    await fixture.polypod('keys', 'revoke', idOf(three ?? ''), '--tasks', 'keep');
    expect(await untilOver(other, tasks[5] ?? '')).toMatchObject({ status: 'failed' });
    writeFileSync(join(fixture.project, 'go2'), '');
    await other.done(tasks[4] ?? '');

    // Others are not affected.
    writeFileSync(join(fixture.project, 'own'), '');
    await other.done(kept);
    for (const late of ['late0', 'late1', 'late2'])
      expect(existsSync(join(fixture.project, late))).toBe(false);
    const { stdout } = await fixture.polypod('audit', '--event', 'task', '--json');
    expect(stdout).toContain('task.paused');
    expect(stdout).toContain('task.cancelled');
  });

  it('has its tasks ended at the next start if the agent was not running', { timeout: BUSY_MS }, async () => {
    const fixture = await agentFixture();
    const running = await fixture.agent();
    const key = await fixture.newKey('--owner', 'ada', '--scope', 'submit,read');
    const client = fixture.client(key);
    const first = await client.submit(asking('s1', 'first'));
    const second = await client.submit({ ...asking('s1'), userPrompt: 'ls' });
    await client.until(first, 'waiting_approval');
    running.child.kill('SIGKILL');
    await running.finished;
    expect((await fixture.polypod('keys', 'revoke', idOf(key))).code).toBe(0);
    await fixture.agent();
    const other = fixture.client();
    expect(await untilOver(other, first)).toMatchObject({ state: 'cancelled' });
    expect(await untilOver(other, second)).toMatchObject({ status: 'failed' });
    expect((await other.get('/approvals')).body).toEqual({ approvals: [] });
    expect(existsSync(join(fixture.project, 'first'))).toBe(false);
  });
});
