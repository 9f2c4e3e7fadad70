import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { objectOf, stringOf } from '../../src/base/index.ts';
import { isType, waitForEvent } from '../cli/daemon.ts';
import { killAndWait, MAIN, polypod } from '../cli/polypod.ts';
import { connectLines, LineLink } from '../doors/lines.ts';
import { Client, type Launched } from '../protocols/hld/fixture.ts';
import { agentFixture } from '../protocols/tasks/binary.ts';
import { type Act, family, familyFixture, reports, sessions, task, tries } from './fixture.ts';

/** A sub-agent that runs a command that needs approval, which makes a file named after its task. */
const makes: Act = (request, turn) => tries('bash', { command: `touch ${task(request)}.txt` })(request, turn);
const TWO = { parent: reports({ one: {}, two: {} }), child: makes };

const isMade = (project: string, name: string): boolean => existsSync(join(project, `${name}.txt`));

describe('an approval that a sub-agent requests', () => {
  it('is asked in the chat of the parent, with the work of the sub-agent', async () => {
    const fixture = await familyFixture(TWO);
    const { stdout, code } = await polypod(['chat', '--cwd', fixture.project, '-m', 'anthropic/x'], {
      env: fixture.env,
      input: 'Go\ny\nn\n',
    });
    expect(code).toBe(0);
    expect(stdout).toContain('bash wants to run: touch one.txt (sub-agent: one)');
    expect(stdout).toContain('bash wants to run: touch two.txt (sub-agent: two)');
    const made = ['one', 'two'].filter((name) => isMade(fixture.project, name));
    expect(made).toHaveLength(1);
  });

  it('is listed and decided on the HLD door, for sub-agents that run in parallel', async () => {
    const fixture = await familyFixture(TWO);
    await fixture.serve();
    const client = await Client.open(join(fixture.home, '.humanlayer/daemon.sock'));
    const { session_id } = (await client.call('launchSession', {
      query: 'Go',
      working_dir: fixture.project,
    })) as Launched;
    const pending = async () => {
      const { approvals } = (await client.call('fetchApprovals', { session_id })) as {
        approvals: readonly { readonly id: string; readonly sub_agent: string; readonly tool_name: string }[];
      };
      return approvals;
    };
    await expect.poll(pending, POLL).toHaveLength(2);
    const [first, second] = (await pending()).toSorted((a, b) => (a.sub_agent < b.sub_agent ? -1 : 1));
    expect([first, second]).toMatchObject([
      { sub_agent: 'one', tool_name: 'bash', session_id },
      { sub_agent: 'two', tool_name: 'bash', session_id },
    ]);
    expect((await fixture.polypod('approvals')).stdout).toMatch(/^[0-9a-f]{8} +(?:one|two) /m);
    const decide = (approval_id: string | undefined, decision: string) =>
      client.call('sendDecision', { approval_id, decision, comment: 'No.' });
    expect(await decide(first?.id, 'approve')).toMatchObject({ success: true });
    expect(await decide(second?.id, 'deny')).toMatchObject({ success: true });
    await expect
      .poll(async () => {
        const { session } = (await client.call('getSessionState', { session_id })) as {
          session: { readonly status: string };
        };
        return session.status;
      }, POLL)
      .toBe('completed');
    expect([isMade(fixture.project, 'one'), isMade(fixture.project, 'two')]).toEqual([true, false]);
  });

  it('is a dialog of the RPC door', async () => {
    const fixture = await familyFixture({ parent: reports({ one: {} }), child: makes });
    const child = spawn(process.execPath, [MAIN, '--mode', 'rpc', '--ask', '--model', 'anthropic/x'], {
      cwd: fixture.project,
      env: { PATH: process.env.PATH, OLLAMA_HOST: 'http://127.0.0.1:9', ...fixture.env },
    });
    child.stderr.resume();
    onTestFinished(() => killAndWait(child));
    const link = new LineLink(child.stdout, child.stdin, () => void child.kill());
    await link.next(({ type }) => type === 'ready');
    link.send({ id: 'p', type: 'prompt', message: 'Go' });
    const dialog = await link.next(({ type }) => type === 'extension_ui_request');
    expect(`${stringOf(dialog.title)} ${stringOf(dialog.message)}`).toContain(
      'Requested by the sub-agent "one".',
    );
    link.send({
      type: 'extension_ui_response',
      id: dialog.id,
      ...(dialog.method === 'confirm' ? { confirmed: true } : { value: 'Allow once' }),
    });
    await link.next(({ type }) => type === 'agent_end');
    expect(isMade(fixture.project, 'one')).toBe(true);
  });

  it('is an event of the parent on the pod door, and decide releases the sub-agent', async () => {
    const fixture = await familyFixture({ parent: reports({ one: {} }), child: makes });
    await fixture.serve();
    const { stdout: id } = await fixture.polypod('new', '-C', fixture.project, '-m', 'anthropic/x');
    const link = await connectLines(join(fixture.dataDirectory, 'run/pods', `${id.trim()}.sock`));
    link.send({ method: 'subscribe', params: {} });
    link.send({ method: 'run', params: { input: 'Go' } });
    const { data } = await link.next(({ event }) => event === 'approval_request');
    const { approval_id, pod_id, pod_name } = objectOf(data);
    expect(pod_name).toBe('one');
    const child = (await sessions(fixture)).find(({ spawned }) => spawned);
    expect(pod_id).toBe(child?.id);
    link.send({ method: 'decide', params: { approval_id, decision: 'approve' } });
    await link.next(({ event, data: state }) => event === 'status' && objectOf(state).state === 'idle');
    expect(isMade(fixture.project, 'one')).toBe(true);
    // A client of the child sees the whole run.
    const end = await waitForEvent(await fixture.pod(child?.id ?? ''), isType('run-end'));
    expect(end).toMatchObject({ outcome: { status: 'finished' } });
  });

  it('is listed and decided on the tasks door', async () => {
    const fixture = await agentFixture(family({ parent: reports({ one: {} }), child: makes }));
    await fixture.agent();
    const client = fixture.client();
    const taskId = await client.submit({ taskType: 'complex_task', userPrompt: 'Go' });
    await client.until(taskId, 'waiting_approval');
    const { body } = await client.get<{ approvals: readonly { readonly approvalId: string }[] }>(
      '/approvals',
    );
    expect(body.approvals).toMatchObject([{ subagent: 'one', tool: 'bash' }]);
    await client.post(`/approvals/${body.approvals[0]?.approvalId}/decide`, { decision: 'approve' });
    expect(await client.done(taskId)).toMatchObject({ state: 'succeeded' });
    expect(isMade(fixture.project, 'one')).toBe(true);
  });

  it('that is approved for the session is not asked again for another sub-agent', async () => {
    const fixture = await familyFixture({
      parent: (request, turn) =>
        turn < 2 ? reports({ [`part ${turn}`]: {} })(request, 0) : reports({})(request, 1),
      child: tries('bash', { command: 'touch made.txt' }),
    });
    const { stdout } = await polypod(['chat', '--cwd', fixture.project, '-m', 'anthropic/x'], {
      env: fixture.env,
      input: 'Go\na\n',
    });
    expect(stdout.match(/bash wants to run/g)).toHaveLength(1);
    expect(stdout).not.toContain('denied');
  });
});

const POLL = { timeout: 60_000, interval: 50 };
