import { join } from 'node:path';
import { describe, expect, it, onTestFinished, test } from 'vitest';
import { PodClient } from '../../../src/client/index.ts';
import { dataPathsFrom } from '../../../src/setup/index.ts';
import { answer, calling, has, isIdle, newHome, openChat, submit, shellIn, startIn } from './chat-fixture.ts';
import { waitForEvent, isType, cliFixture, type CliFixture } from '../daemon.ts';
import { polypod, start } from '../polypod.ts';
import { hasTmux } from '../../terminal/tmux.ts';

/** Another client of the same pod, over the Pod Protocol. */
async function bobAt({ env }: Pick<CliFixture, 'env'>, id: string): Promise<PodClient> {
  const path = join(dataPathsFrom(env).runtimeDirectory, 'pods', `${id}.sock`);
  const bob = await PodClient.open({ path, name: 'bob' });
  onTestFinished(() => bob.close());
  return bob;
}

const newPod = async ({ polypod: run, project }: CliFixture, name: string) =>
  (await run('new', '--name', name, '--cwd', project)).stdout.trim();

const counting = (lines: readonly string[], text: string) =>
  lines.filter((line) => line.includes(text)).length;

/** The id of a pending approval. */
async function pendingApprovalId(bob: PodClient): Promise<string> {
  for await (const { event, data } of bob.events())
    if (event === 'approval_request' && typeof data.approval_id === 'string') return data.approval_id;
  throw new Error('nothing was asked');
}

/** A pod of the daemon on a terminal, and another client of the same pod. */
async function shared() {
  const fixture = await cliFixture();
  await fixture.serve();
  const id = await newPod(fixture, 'shared');
  const pane = await shellIn(fixture);
  startIn(pane, 'attach shared');
  await pane.see(isIdle);
  return { fixture, id, pane, bob: await bobAt(fixture, id) };
}

describe.runIf(hasTmux)('polypod attach on a real terminal', () => {
  test('shows prompts and approvals of another client, and controls the same pod', async () => {
    const { fixture, id, pane, bob } = await shared();
    await bob.run(calling('bash', { command: 'node -e 0' }, 'all done'));
    await pane.see(has('· bob through pod:'));
    await pane.see(has('y yes, once'));
    await bob.decide(await pendingApprovalId(bob), 'approve');
    await pane.see((lines) => lines.includes('all done'));
    await pane.see(isIdle);
    expect(pane.all()).toContain('· bob approved through pod: bash node -e 0');
    expect(has('y yes, once')(pane.screen())).toBe(false);
    await submit(pane, calling('bash', { command: 'node -e 1' }, 'mine too'));
    await answer(pane, 'y');
    await pane.see((lines) => lines.includes('mine too'));
    const { by, door } = (await waitForEvent(
      await fixture.pod(id),
      (event) => event.type === 'approval-response' && event.by !== 'bob',
    )) as { by?: string; door?: string };
    expect({ by, door }).toEqual({ by: 'ada', door: 'control' });
  });

  test('shows a cancel by another client, and exiting cancels nothing', async () => {
    const { fixture, pane, bob } = await shared();
    await submit(pane, 'talk [[sim deltas=3000 delay=10]]');
    await pane.see(has('answering'));
    await bob.cancel();
    await pane.see(has('· cancelled by bob through pod'));
    await pane.see(isIdle);
    pane.press('C-d');
    await pane.see((lines) => lines.at(-1) === '$');
    expect((await fixture.polypod('status')).code).toBe(0);
  });

  test('resumes by event number after the daemon was killed, without gaps or duplicates', async () => {
    const fixture = await cliFixture();
    const first = await fixture.serve();
    const id = await newPod(fixture, 'steady');
    const pane = await shellIn(fixture, 80, 50);
    startIn(pane, 'attach steady');
    await pane.see(isIdle);
    await submit(pane, 'before [[sim text=before-answer]]');
    await pane.see((lines) => lines.includes('before-answer'));
    await pane.see(isIdle);
    first.child.kill('SIGKILL');
    await pane.see(has('the connection is lost'));
    await fixture.serve();
    await pane.see(has('· reconnected'));
    const bob = await fixture.pod(id);
    await bob.handle(
      { type: 'prompt', content: [{ type: 'text', text: 'after [[sim text=after-answer]]' }] },
      { by: 'bob', door: 'control' },
    );
    await pane.see((lines) => lines.includes('after-answer'));
    await submit(pane, 'mine [[sim text=mine-answer]]');
    await pane.see((lines) => lines.includes('mine-answer'));
    for (const text of ['before-answer', 'after-answer', 'mine-answer'])
      expect(pane.all().filter((line) => line === text)).toHaveLength(1);
    expect(counting(pane.all(), 'no longer available')).toBe(0);
    expect(counting(pane.all(), 'bob through terminal:')).toBe(1);
  });

  test('attaches to a chat in another terminal without a daemon', async () => {
    const home = newHome();
    const chat = await openChat(home, '--name live');
    await submit(chat, 'hello [[sim text=first-answer]]');
    await chat.see((lines) => lines.includes('first-answer'));
    const other = await shellIn({ ...home, env: { ...home.env, USER: 'bob' } });
    startIn(other, 'attach live');
    await other.see(isIdle);
    expect(other.screen()).toContain('first-answer');
    await submit(other, calling('bash', { command: 'node -e 0' }, 'second-answer'));
    await chat.see(has('· bob through terminal:'));
    await chat.see(has('y yes, once'));
    await answer(chat, 'y');
    await other.see(has('· ada approved through terminal'));
    await other.see((lines) => lines.includes('second-answer'));
    await chat.see((lines) => lines.includes('second-answer'));
    chat.press('C-d');
    await chat.see((lines) => lines.at(-1) === '$');
    await other.see(has('the connection is lost'));
    other.press('C-d');
    await other.see((lines) => lines.at(-1) === '$');
  });

  test('input that is sent while the daemon is unreachable returns to the input line', async () => {
    const fixture = await cliFixture();
    const daemon = await fixture.serve();
    await newPod(fixture, 'away');
    const pane = await shellIn(fixture);
    startIn(pane, 'attach away');
    await pane.see(isIdle);
    await submit(pane, 'talk [[sim deltas=3000 delay=10]]');
    await pane.see(has('answering'));
    daemon.child.kill('SIGKILL');
    await pane.see(has('the connection is lost'));
    await pane.see((lines) => lines.at(-1)?.includes('· away') === true);
    expect(has('answering')(pane.screen())).toBe(false);
    await submit(pane, 'while down');
    await pane.see(has('the daemon closed the connection'));
    await pane.see((lines) => lines.includes('> while down'));
    await fixture.serve();
    await pane.see(has('· reconnected'));
    expect(pane.screen()).toContain('> while down');
  });

  test('a pending approval is shown once to each new client, and its decision with the author', async () => {
    const fixture = await cliFixture();
    await fixture.serve();
    const id = await newPod(fixture, 'asked');
    const bob = await bobAt(fixture, id);
    await bob.run(calling('bash', { command: 'node -e 0' }, 'all done'));
    await pendingApprovalId(bob);
    const panes = [await shellIn(fixture), await shellIn(fixture)] as const;
    for (const pane of panes) {
      startIn(pane, 'attach asked');
      await pane.see(has('y yes, once'));
      expect(counting(pane.all(), 'node -e 0 waits')).toBe(0);
      expect(counting(pane.all(), '? bash wants to run')).toBe(1);
    }
    await answer(panes[0], 'y');
    // The same user on another terminal counts as another client.
    await panes[1].see(has('· ada approved through terminal'));
    await panes[0].see(has('· approved'));
    expect(counting(panes[0].all(), 'ada approved')).toBe(0);
  });

  test('chat uses a running daemon, and its runs continue after it exits', async () => {
    const fixture = await cliFixture();
    await fixture.serve();
    const pane = await shellIn(fixture);
    startIn(pane, 'chat --name guest');
    await pane.see(isIdle);
    await submit(pane, 'talk [[sim deltas=300 delay=10]]');
    await pane.see(has('answering'));
    pane.press('C-d');
    await pane.see(has('the run continues; polypod attach guest returns to it'));
    await pane.see((lines) => lines.at(-1) === '$');
    const { stdout } = await fixture.polypod('ls', '--json');
    const [{ id }] = JSON.parse(stdout) as [{ id: string }];
    const end = await waitForEvent(await fixture.pod(id), isType('run-end'));
    expect(end).toMatchObject({ outcome: { status: 'finished' } });
  });
});

/** A chat in its own process, which stays open. */
async function ownChat() {
  const home = newHome();
  const args = ['chat', '--offline', '--name', 'owned', 'one [[sim text=first-answer]]'];
  const owner = start(args, home.env);
  await owner.waitForOutput('\nfirst-answer\n');
  const [{ id }] = JSON.parse((await polypod(['ls', '--json'], { env: home.env })).stdout) as [
    { id: string },
  ];
  return { home, owner, id };
}

describe('polypod attach without a terminal', () => {
  it('prints the conversation, sends its input, and exits when the pod is idle', async () => {
    const fixture = await cliFixture();
    await fixture.serve();
    await newPod(fixture, 'plain');
    const attach = (input: string) => polypod(['attach', 'plain'], { env: fixture.env, input });
    expect(await attach('one [[sim text=answer]]\n')).toMatchObject({
      code: 0,
      stdout: '❯ one [[sim text=answer]]\n\nanswer\n',
    });
    expect(await attach('')).toMatchObject({ code: 0, stdout: '❯ one [[sim text=answer]]\n\nanswer\n' });
  });

  it('leaves approvals to clients that can answer, and keeps watching', async () => {
    const fixture = await cliFixture();
    await fixture.serve();
    const id = await newPod(fixture, 'left');
    const bob = await bobAt(fixture, id);
    await bob.run(calling('bash', { command: 'node -e 0' }, 'all done'));
    const approvalId = await pendingApprovalId(bob);
    const watcher = start(['attach', '--plain', 'left'], fixture.env);
    watcher.child.stdin.end();
    await watcher.waitForOutput('no one can answer here: the approval stays pending');
    const waiting = JSON.parse((await fixture.polypod('approvals', '--json')).stdout) as unknown[];
    expect(waiting).toHaveLength(1);
    await bob.decide(approvalId, 'approve');
    const { code, stdout } = await watcher.finished;
    expect(code).toBe(0);
    expect(stdout).toContain('· bob approved through pod');
    expect(stdout).toContain('all done');
  });

  it('leaves approvals of its own prompt, too', async () => {
    const fixture = await cliFixture();
    await fixture.serve();
    const id = await newPod(fixture, 'mine');
    const watcher = start(['attach', 'mine'], fixture.env);
    watcher.child.stdin.end(`${calling('bash', { command: 'node -e 0' }, 'all done')}\n`);
    await watcher.waitForOutput('no one can answer here: the approval stays pending');
    const { approval } = (await waitForEvent(await fixture.pod(id), isType('approval-request'))) as {
      approval: { approvalId: string };
    };
    await (await bobAt(fixture, id)).decide(approval.approvalId, 'deny');
    const { code, stdout } = await watcher.finished;
    expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining('· bob denied') });
    // A client that attaches later sees the same output.
    const later = await polypod(['attach', 'mine'], { env: fixture.env });
    expect(later.stdout).toContain('⊘ bash node -e 0 denied');
  });

  it('an interrupted chat cancels its own run, also in the daemon', async () => {
    const fixture = await cliFixture();
    await fixture.serve();
    const chat = start(['chat', 'talk [[sim deltas=5000 delay=10]]'], fixture.env);
    await chat.waitForOutput('❯ talk');
    chat.child.kill('SIGINT');
    expect((await chat.finished).code).toBe(130);
    const { stdout } = await fixture.polypod('ls', '--json');
    const [{ id }] = JSON.parse(stdout) as [{ id: string }];
    expect(await waitForEvent(await fixture.pod(id), isType('run-end'))).toMatchObject({
      outcome: { status: 'cancelled' },
    });
  });

  it('exits with the next step when the process that has the session open dies', async () => {
    const { home, owner, id } = await ownChat();
    const attached = start(['attach', 'owned'], home.env);
    await attached.waitForOutput('first-answer');
    owner.child.kill('SIGKILL');
    const { code, stdout } = await attached.finished;
    expect(code).toBe(3);
    expect(stdout).toContain('the connection is lost: reconnecting; Ctrl-C exits');
    expect(stdout.replaceAll(/\s+/g, ' ')).toContain(
      `the process that hosted the session has ended: resume it with polypod chat --resume ${id}`,
    );
  });

  it('is what chat --resume does when another process has the session open; run --resume reports it', async () => {
    const { home, owner, id } = await ownChat();
    const again = await polypod(['chat', '--offline', '--system', 'Be brief.', '--resume', 'owned'], {
      env: { ...home.env, USER: 'bob' },
      input: 'mine [[sim text=second-answer]]\n',
    });
    expect(again.code).toBe(0);
    expect(again.stdout).toContain(`the session ${id} is open in another process`);
    // The other process runs the commands, so a sandbox of this process would have no effect.
    const boxed = await polypod(['chat', '--offline', '--sandbox', '--resume', 'owned'], { env: home.env });
    expect(boxed).toMatchObject({ code: 2, stdout: '' });
    expect(boxed.stderr).toContain('is open in another process, where --sandbox has no effect');
    expect(again.stdout).toContain('second-answer');
    await owner.waitForOutput('bob through terminal:');
    expect(await polypod(['run', '--offline', '--resume', 'owned', 'Go'], { env: home.env })).toMatchObject({
      code: 2,
      stderr: `polypod run: the session ${id} is open in process ${owner.child.pid}: polypod attach ${id} joins it there\n`,
    });
  });

  it('forks in the daemon, and continues in the copy', async () => {
    const fixture = await cliFixture();
    await fixture.serve();
    const id = await newPod(fixture, 'original');
    const { code, stdout } = await polypod(['attach', 'original'], {
      env: fixture.env,
      input: 'one [[sim text=first-answer]]\n/fork\ntwo [[sim text=second-answer]]\n',
    });
    expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining('second-answer') });
    const rows = JSON.parse((await fixture.polypod('ls', '--json')).stdout) as {
      id: string;
      lastText: string;
    }[];
    expect(rows.map(({ id: each, lastText }) => [each === id, lastText])).toEqual([
      [false, 'second-answer'],
      [true, 'first-answer'],
    ]);
  });

  it('explains what to do if there is nothing to attach to', async () => {
    const home = newHome();
    const run = (...args: readonly string[]) => polypod(['attach', ...args], { env: home.env });
    expect(await run()).toMatchObject({ code: 2, stderr: expect.stringContaining('attach takes one pod') });
    expect(await run('nobody')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('no session "nobody"'),
    });
    await polypod(['chat', '--offline', '--name', 'quiet', 'x [[sim text=y]]'], { env: home.env });
    expect((await run('quiet')).stderr).toMatch(
      /no process hosts the session .*: resume it with polypod chat --resume/,
    );
    expect((await run('/no/such.sock')).stderr).toContain('no process listens on /no/such.sock');
  });
});
