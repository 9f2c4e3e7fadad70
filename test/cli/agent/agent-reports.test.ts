import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { agentFixture } from '../../protocols/tasks/binary.ts';
import { Client, task } from '../../protocols/tasks/fixture.ts';
import { WsClient } from '../../protocols/tasks/ws-client.ts';
import { textAnswer } from '../daemon.ts';
import { start } from '../polypod.ts';

describe('polypod task', () => {
  it('reports a denied command as denied, and lists tasks with their prompts', async () => {
    const fixture = await agentFixture([textAnswer('Hello.')]);
    await fixture.agent();
    const run = (...args: readonly string[]) => fixture.polypod('task', ...args);
    const waiting = start(
      ['task', 'submit', '-t', 'command_execution', '-s', 's1', '--wait', 'rm -r build'],
      fixture.env,
    );
    await waiting.waitForOutput('polypod task deny ');
    const [, approvalId = ''] = /task deny (\S+)/.exec(waiting.output().stderr) ?? [];
    expect((await run('deny', approvalId, '--comment', 'Keep it.')).code).toBe(0);
    const { code, stderr, stdout } = await waiting.finished;
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain('polypod task: the command was denied: ada denied this call: Keep it.\n');
    expect((await run('submit', '-t', 'chat', '-s', 's2', '--wait', 'Say\nhello.')).code).toBe(0);

    const pretty = (await run('list')).stdout.trimEnd().split('\n');
    expect(pretty[0]).toMatch(/^task +session +state +age +about$/);
    expect(
      pretty.slice(1).toSorted((a, b) => (a.split(/ +/)[1] ?? '').localeCompare(b.split(/ +/)[1] ?? '')),
    ).toEqual([
      expect.stringMatching(/^\w+ +s1 +denied +\d+ s +rm -r build$/),
      expect.stringMatching(/^\w+ +s2 +succeeded +\d+ s +Say hello\.$/),
    ]);
    expect(JSON.parse((await run('list', '--json', '--status', 'failed')).stdout)).toEqual([
      expect.objectContaining({
        sessionId: 's1',
        status: 'failed',
        state: 'denied',
        userPrompt: 'rm -r build',
        agentName: 'polypod',
      }),
    ]);
    const [{ taskId }] = JSON.parse((await run('list', '--json', '-s', 's1')).stdout) as [{ taskId: string }];
    const status = await run('status', taskId, '--json');
    expect(status.code).toBe(1);
    expect(JSON.parse(status.stdout)).toEqual({
      taskId,
      status: 'failed',
      state: 'denied',
      sessionId: 's1',
      errorMessage: 'the command was denied: ada denied this call: Keep it.',
    });
  });
});

describe('the metrics of an agent', () => {
  it('count every refusal by its code, and /health needs no key on this machine', async () => {
    const fixture = await agentFixture();
    fixture.configure('tasks: { limits: { pending: 1, unauthenticated_per_minute: 60 } }\n');
    await fixture.agent();
    const { url } = fixture.record();
    const admin = fixture.client(await fixture.newKey('--owner', 'root', '--scope', 'admin'));
    const reader = fixture.client(await fixture.newKey('--owner', 'root', '--scope', 'read'));
    const refused = async (): Promise<Readonly<Record<string, number>>> => {
      const { text } = (await admin.get<{ text: string }>('/metrics')).body;
      const counts = [...text.matchAll(/^polypod_tasks_refused_total\{code="(\w+)"\} (\d+)$/gm)];
      return Object.fromEntries(counts.map(([, code, count]) => [code ?? '', Number(count)]));
    };
    const NONE = {
      unauthorized: 0,
      missing_scope: 0,
      outside_key: 0,
      invalid_request: 0,
      not_found: 0,
      rate_limited: 0,
      task_rejected: 0,
    };
    expect(await refused()).toEqual(NONE);

    const health = await fetch(`${url}/health`);
    expect([health.status, await health.text()]).toEqual([200, '{"status":"ok"}']);
    const anonymous = new Client(() => url, undefined);
    expect((await anonymous.get('/tasks')).status).toBe(401);
    expect((await fixture.client('wrong-key-of-nobody').get('/tasks')).status).toBe(401);
    expect((await reader.post('/submit_task', task())).status).toBe(403);
    expect((await admin.post('/submit_task', task({ taskType: 'odd' }))).status).toBe(400);
    expect((await admin.get('/tasks/none/status')).status).toBe(404);
    expect((await admin.post('/submit_task', task({ context: { workingDirectory: '/' } }))).status).toBe(403);
    const socket = new WsClient(url, ['polypod', `bearer.${reader.key}`]);
    await socket.opened;
    expect((await socket.ask('prompt', task())).event).toBe('error');
    expect((await socket.ask('dance')).event).toBe('error');
    await expect(new WsClient(url, ['polypod', 'bearer.wrong']).opened).rejects.toThrow('401');
    await notHttp(Number(new URL(url).port));
    const command = { taskType: 'command_execution', userPrompt: 'rm -r build' };
    await admin.until(await admin.submit(command), 'waiting_approval');
    await admin.submit(command);
    expect((await admin.post('/submit_task', task(command))).body).toMatchObject({ status: 'rejected' });
    const expected = {
      ...NONE,
      unauthorized: 3,
      missing_scope: 2,
      outside_key: 1,
      invalid_request: 2,
      not_found: 1,
      malformed_request: 1,
      task_rejected: 1,
    };
    expect(await refused()).toEqual(expected);

    // Above the rate limit of an address, nothing else is recorded: no audit entry and no wrong key.
    for (let status = 0; status !== 429; ) ({ status } = await anonymous.get('/tasks'));
    const now = await refused();
    expect(now.rate_limited).toBe(1);
    const total = Object.values(now).reduce((sum, count) => sum + count, 0);
    const metrics = (await fixture.polypod('status', '--metrics')).stdout;
    expect(metrics).toContain(`\npolypod_door_refused_total{door="tasks"} ${total}\n`);
  });
});

/** Sends bytes that are not a request, and waits until the connection closes. */
async function notHttp(port: number): Promise<void> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  socket.resume();
  socket.write('this is not HTTP\r\n\r\n');
  await new Promise((resolve) => {
    socket.on('close', resolve);
  });
}
