import { expect, it } from 'vitest';
import { call, waitForEvent, isType, textAnswer, type CliFixture, cliFixture } from '../daemon.ts';
import { type Running, start } from '../polypod.ts';

/** Starts a session with a pending approval, and returns the id of the approval. */
async function asking(
  fixture: CliFixture,
  name: string,
): Promise<{ readonly id: string; readonly session: string }> {
  const session = (await fixture.polypod('new', '--name', name, '--cwd', fixture.project)).stdout.trim();
  const pod = await fixture.pod(session);
  await pod.handle({ type: 'prompt', content: [{ type: 'text', text: 'Go' }] });
  const event = await waitForEvent(pod, isType('approval-request'));
  return { id: event.type === 'approval-request' ? event.approval.approvalId : '', session };
}

function watch({ env }: CliFixture, ...args: readonly string[]): Running {
  return start(['approvals', 'watch', ...args], env);
}

it('watch prints pending, new and settled approvals as JSON lines', async () => {
  const fixture = await cliFixture([
    call('bash', { command: 'node -e 1' }),
    call('bash', { command: 'node -e 2' }),
    textAnswer('One.'),
    textAnswer('Two.'),
  ]);
  await fixture.serve();
  const before = await asking(fixture, 'Before');
  const watching = watch(fixture, '--json');
  await watching.waitForOutput(before.id);
  const after = await asking(fixture, 'After');
  await watching.waitForOutput(after.id);
  await fixture.polypod('approvals', 'approve', before.id);
  await fixture.polypod('approvals', 'deny', after.id, '-m', 'No.');
  await watching.waitForOutput('"comment":"No."');
  watching.child.kill('SIGINT');
  const { code, stdout } = await watching.finished;
  expect(code).toBe(0);
  const lines = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  const question = { tool: 'bash', cwd: fixture.project, requestedAt: expect.any(String) };
  expect(lines.map(({ arguments: json }) => JSON.parse(json).command)).toEqual([
    'node -e 1',
    'node -e 2',
    'node -e 1',
    'node -e 2',
  ]);
  expect(lines).toMatchObject([
    { type: 'asked', ...before, name: 'Before', title: expect.stringContaining('node -e 1'), ...question },
    { type: 'asked', ...after, name: 'After', title: expect.stringContaining('node -e 2'), ...question },
    { type: 'settled', ...before, status: 'approved', by: 'ada', door: 'control', at: expect.any(String) },
    { type: 'settled', ...after, status: 'denied', by: 'ada', comment: 'No.' },
  ]);
  expect(lines).toHaveLength(4);
});

it('watch prints the complete call for people, also of a withdrawn approval', async () => {
  const fixture = await cliFixture([call('bash', { command: 'node -e 1' })]);
  await fixture.serve();
  const watching = watch(fixture);
  const { id, session } = await asking(fixture, 'Mine');
  await watching.waitForOutput('asked');
  await fixture.polypod('sessions', 'interrupt', session);
  await watching.waitForOutput('cancelled');
  expect(watching.output().stdout).toMatch(
    new RegExp(
      `^asked +${id} +Mine +bash\\n  command: node -e 1\\ncancelled ${id} +Mine +bash +.*node -e 1\\n$`,
    ),
  );
});

it('watch reconnects after a restart of the daemon, and repeats nothing', async () => {
  const fixture = await cliFixture([
    call('bash', { command: 'node -e 1' }),
    call('bash', { command: 'node -e 2' }),
    textAnswer('Done.'),
  ]);
  await fixture.serve();
  const watching = watch(fixture);
  const first = await asking(fixture, 'First');
  await watching.waitForOutput(first.id);
  await fixture.polypod('stop');
  await watching.waitForOutput('polypod: the connection is lost: reconnecting');
  await fixture.serve();
  await watching.waitForOutput('polypod: reconnected');
  const second = await asking(fixture, 'Second');
  await watching.waitForOutput(second.id);
  await fixture.polypod('approvals', 'deny', first.id, '-m', 'No.');
  await watching.waitForOutput('denied');
  watching.child.kill('SIGINT');
  const { code, stdout } = await watching.finished;
  expect(code).toBe(0);
  const changes = stdout
    .split('\n')
    .flatMap((line) => /^(asked|denied) +(\S+)/.exec(line)?.slice(1, 3).join(' ') ?? []);
  expect(changes).toEqual([`asked ${first.id}`, `asked ${second.id}`, `denied ${first.id}`]);
});

it.each([
  [['watch'], 3, 'no daemon is up'],
  [['watch', 'this'], 2, 'watch takes no argument, not "this"'],
  [['list', 'this'], 2, 'list takes no argument, not "this"'],
  [['show'], 2, 'show needs the id of an approval: polypod approvals lists the ids'],
])('%j is refused with the next step', async (args, code, message) => {
  const fixture = await cliFixture();
  expect(await fixture.polypod('approvals', ...args)).toMatchObject({
    code,
    stderr: expect.stringContaining(message),
  });
});
