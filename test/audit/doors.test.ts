import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type JsonObject, objectOf } from '../../src/base/index.ts';
import { PodClient } from '../../src/client/index.ts';
import { call, waitForEvent, isType, textAnswer } from '../cli/daemon.ts';
import { start } from '../cli/polypod.ts';
import { Client as HldClient, pendingApproval } from '../protocols/hld/fixture.ts';
import { Program } from '../protocols/rpc/program.ts';
import { type AgentFixture, agentFixture } from '../protocols/tasks/binary.ts';
import { raw, task } from '../protocols/tasks/fixture.ts';

async function entries(
  fixture: Pick<AgentFixture, 'polypod'>,
  ...args: string[]
): Promise<readonly JsonObject[]> {
  const { stdout } = await fixture.polypod('audit', '--json', ...args);
  return stdout
    .trimEnd()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as JsonObject);
}

/** Polls until the log has the expected entries: requests are written after a short delay. */
async function until(
  fixture: AgentFixture,
  matches: (all: readonly JsonObject[]) => boolean,
  ...args: string[]
): Promise<readonly JsonObject[]> {
  for (;;) {
    const all = await entries(fixture, ...args);
    if (matches(all)) return all;
  }
}

const asks = call('bash', { command: 'node -e 1 > made' });
const command = (sessionId: string): JsonObject => ({
  sessionId,
  taskType: 'command_execution',
  userPrompt: 'node -e 1 > made',
});

/** Allows for many consecutive processes on a busy machine. */
const BUSY_MS = 120_000;

describe('the audit log of the built program', () => {
  it('records the approvals and denials of every door, and the automatic ones', {
    timeout: BUSY_MS,
  }, async () => {
    const fixture = await agentFixture([asks, textAnswer('Done.'), asks, textAnswer('Done.')]);
    fixture.configure('approvals: { deadline: 1h, fallback: deny }\n');
    const running = await fixture.agent();
    const ada = fixture.client();
    const approvalIn = async (sessionId: string): Promise<{ approvalId: string; podId: string }> => {
      const taskId = await ada.submit(command(sessionId));
      await ada.until(taskId, 'waiting_approval');
      const { body } = await ada.get<{ approvals: readonly { approvalId: string }[] }>(
        `/approvals?sessionId=${sessionId}`,
      );
      const session = await ada.get(`/sessions/${sessionId}`);
      return { approvalId: body.approvals[0]?.approvalId ?? '', podId: String(session.body.podId) };
    };

    const tasks = await approvalIn('tasks');
    await ada.post(`/approvals/${tasks.approvalId}/decide`, { decision: 'deny', comment: 'No.' });

    const cli = await approvalIn('cli');
    expect((await fixture.polypod('approvals', 'deny', cli.approvalId, '--comment', 'No.')).code).toBe(0);

    const pod = await approvalIn('pod');
    const path = join(fixture.dataDirectory, 'run/daemon.sock');
    const client = await PodClient.open({ path, pod: pod.podId, name: 'grace' });
    await client.decide(pod.approvalId, 'approve', { remember: 'session' });
    await client.close();

    const cancelled = await approvalIn('cancelled');
    const handle = await fixture.pod(cancelled.podId);
    await handle.handle({ type: 'cancel' }, { by: 'ada', door: 'test' });
    await waitForEvent(handle, isType('approval-response'));

    const hld = await HldClient.open(join(fixture.home, '.humanlayer/daemon.sock'));
    const { session_id } = (await hld.call('launchSession', {
      query: 'hi',
      working_dir: fixture.project,
    })) as {
      session_id: string;
    };
    let approval_id = '';
    while (approval_id === '') approval_id = await pendingApproval(hld, session_id);
    await hld.call('sendDecision', { approval_id, decision: 'deny', comment: 'No.' });

    const all = await entries(fixture, '--event', 'approval');
    expect(all.map(({ event, door, by, target }) => [event, door, by, target])).toEqual([
      ['approval.denied', 'tasks', 'ada', tasks.approvalId],
      ['approval.denied', 'control', 'ada', cli.approvalId],
      ['approval.approved', 'pod', 'grace', pod.approvalId],
      ['approval.cancelled', undefined, undefined, cancelled.approvalId],
      ['approval.denied', 'hld', expect.any(String), expect.any(String)],
    ]);
    expect(all[0]?.details).toMatchObject({ tool: 'bash', comment: 'No.' });
    expect(JSON.stringify(await entries(fixture, '--session', pod.podId))).toContain('settings.changed');

    // A run in a separate process, where nobody can be asked.
    running.child.kill('SIGTERM');
    await running.finished;
    const alone = start(['run', '--no-daemon', '--cwd', fixture.project, 'Do it.'], fixture.env);
    alone.child.stdin.end();
    await alone.finished;
    expect((await entries(fixture, '--event', 'approval.denied')).at(-1)).toMatchObject({
      door: 'cli',
      details: { tool: 'bash' },
    });
    expect((await fixture.polypod('audit', 'verify')).code).toBe(0);
  });

  it('records the decisions of the host in RPC mode, and those that time out', async () => {
    const fixture = await agentFixture([asks, textAnswer('Done.'), asks, textAnswer('Done.')]);
    const decided = async (config: string, answer: JsonObject | undefined): Promise<unknown> => {
      fixture.configure(config);
      const program = new Program(['--ask'], { ...fixture.env, POLYPOD_MODEL: 'anthropic/x' });
      program.send({ type: 'prompt', message: 'Do it.' });
      const { id } = await program.waitFor(({ type }) => type === 'extension_ui_request');
      if (answer !== undefined) program.send({ type: 'extension_ui_response', id, ...answer });
      await program.waitFor(({ type }) => type === 'agent_end');
      await program.end();
      const { event, door, details } = (await entries(fixture, '--event', 'approval')).at(-1) ?? {};
      return { event, door, tool: objectOf(details).tool };
    };
    expect(await decided('', { value: 'Deny' })).toEqual({
      event: 'approval.denied',
      door: 'rpc',
      tool: 'bash',
    });
    expect(await decided('approvals: { deadline: 1s, fallback: deny }\n', undefined)).toMatchObject({
      event: 'approval.expired',
      tool: 'bash',
    });
  });

  it('records every refusal, also of invalid HTTP, in a bounded number of lines', async () => {
    const fixture = await agentFixture();
    await fixture.agent();
    const ada = fixture.client();
    const { url } = fixture.record();
    const bad = (path: string): Promise<unknown> =>
      fetch(`${url}${path}`, { headers: { authorization: 'Bearer wrong', 'x-request-id': 'mine' } });
    await bad('/tasks');
    await ada.get('/etc/passwd', { 'x-request-id': `a${'b'.repeat(5_000)}` });
    await ada.post('/submit_task', task({ sessionId: '' }));
    await raw(url, 'GET / HTTP/9.9\r\n\r\n');
    const some = await until(fixture, (all) => all.some(({ event }) => event === 'connection.refused'));
    expect(some).toContainEqual(
      expect.objectContaining({
        event: 'request.refused',
        action: 'GET /tasks',
        outcome: 'unauthorized',
        clientRequestId: 'mine',
        requestId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      }),
    );
    expect(some).toContainEqual(
      expect.objectContaining({
        action: 'GET /etc/passwd',
        outcome: 'not_found',
        clientRequestId: expect.stringMatching(/^ab{199}… \(5001 characters\)$/),
      }),
    );
    expect(some).toContainEqual(expect.objectContaining({ outcome: 'invalid_request', by: 'ada' }));
    expect(some).toContainEqual(
      expect.objectContaining({ event: 'connection.refused', outcome: 'malformed_request' }),
    );

    // Many requests with long targets on one connection, without a key.
    const file = join(fixture.dataDirectory, 'logs/audit.jsonl');
    const before = statSync(file).size;
    const { hostname, port } = new URL(url);
    const socket = connect(Number(port), hostname);
    const request = `GET /${'x'.repeat(8_000)} HTTP/1.1\r\nHost: localhost\r\n\r\n`;
    let answers = 0;
    // Beyond the rate of an address the agent closes the connection.
    socket.on('error', () => {});
    const over = new Promise<void>((resolve) => {
      socket.on('data', (bytes) => {
        answers += bytes.toString('latin1').split('HTTP/1.1 4').length - 1;
        if (answers >= 2_000) resolve();
      });
      socket.on('close', () => resolve());
    });
    for (let sent = 0; sent < 2_000; sent += 100) socket.write(request.repeat(100));
    await over;
    socket.destroy();
    expect((await fixture.polypod('stop')).code).toBe(0);
    expect(statSync(file).size - before).toBeLessThan(30_000);
    const counted = (await entries(fixture, '--limit', '10000')).filter(({ count }) => count !== undefined);
    expect(counted.length).toBeGreaterThan(0);
    expect((await fixture.polypod('audit', 'verify')).code).toBe(0);
  });

  it('can be filtered and printed, and verify names a changed, removed or reordered line', {
    timeout: BUSY_MS,
  }, async () => {
    const fixture = await agentFixture();
    await fixture.agent();
    const key = await fixture.newKey('--owner', 'ci');
    const id = key.split('_')[1] ?? '';
    await fixture.polypod('keys', 'revoke', id);
    expect((await entries(fixture, '--key', id)).map(({ event }) => event)).toEqual([
      'key.created',
      'key.revoked',
    ]);
    expect(await entries(fixture, '--event', 'key', '--by', 'nobody')).toEqual([]);
    expect(await entries(fixture, '--since', '2001-01-01', '--until', '2001-01-02')).toEqual([]);
    expect((await entries(fixture, '--door', 'cli', '--since', '1h', '--limit', '1'))[0]).toMatchObject({
      event: 'key.revoked',
      by: 'ada',
    });
    const shown = await fixture.polypod('audit', '--event', 'key.created', '--key', id);
    expect(shown.stdout).toMatch(new RegExp(`^\\d{4}-.* key.created ada via cli key=${id} .*owner=ci`));
    expect(shown.stdout).not.toContain('hash');
    expect((await entries(fixture, '--event', 'agent'))[0]).toMatchObject({
      event: 'agent.started',
      details: { noAuth: false },
    });
    expect((await fixture.polypod('stop')).code).toBe(0);

    const file = join(fixture.dataDirectory, 'logs/audit.jsonl');
    const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
    const verified = await fixture.polypod('audit', 'verify');
    expect(verified).toMatchObject({ code: 0, stdout: expect.stringContaining('the chain is intact') });
    const head = /last entry (\d+:[0-9a-f]{64})/.exec(verified.stdout)?.[1] ?? '';
    expect((await fixture.polypod('audit', 'verify', '--expect', head, '--json')).stdout).toContain(
      '"ok": true',
    );
    for (const [changed, at] of [
      [lines.with(1, lines[1]?.replace('"by":"ada"', '"by":"eve"') ?? ''), 2],
      [lines.toSpliced(2, 1), 3],
      [lines.slice(0, -1), lines.length],
      [[...lines.slice(0, 2), lines[3], lines[2], ...lines.slice(4)], 3],
    ] as const) {
      writeFileSync(file, `${changed.join('\n')}\n`);
      const { code, stdout } = await fixture.polypod('audit', 'verify');
      expect({ code, first: stdout.split(': ')[0] }).toEqual({ code: 1, first: `${file}:${at}` });
    }
    for (const [args, message] of [
      [['--since', 'soon'], '--since takes a date'],
      [['--event', 'key.revoke'], 'did you mean key.revoked?'],
      [['verify', '--expect', 'x'], '--expect takes'],
      [['prove'], 'unknown arguments: use polypod audit or polypod audit verify'],
    ] as const)
      expect(await fixture.polypod('audit', ...args)).toMatchObject({
        code: 2,
        stderr: expect.stringContaining(message),
      });
  });
});
