import { expect, it } from 'vitest';
import { call, waitForEvent, isType, textAnswer, type Site, site } from './daemon.ts';
import { type Running, start } from './polypod.ts';

/** A session that asks whether it may run a command; the id of the question. */
async function asking(here: Site, name: string): Promise<{ readonly id: string; readonly session: string }> {
  const session = (await here.polypod('new', '--name', name, '--cwd', here.project)).stdout.trim();
  const pod = await here.pod(session);
  await pod.handle({ type: 'prompt', content: [{ type: 'text', text: 'Go' }] });
  const event = await waitForEvent(pod, isType('approval-request'));
  return { id: event.type === 'approval-request' ? event.approval.approvalId : '', session };
}

function watch({ env }: Site, ...args: readonly string[]): Running {
  return start(['approvals', 'watch', ...args], env);
}

it('watch prints pending, new and settled approvals as JSON lines', async () => {
  const here = await site([
    call('bash', { command: 'node -e 1' }),
    call('bash', { command: 'node -e 2' }),
    textAnswer('One.'),
    textAnswer('Two.'),
  ]);
  await here.serve();
  const before = await asking(here, 'Before');
  const watching = watch(here, '--json');
  await watching.waitForOutput(before.id);
  const after = await asking(here, 'After');
  await watching.waitForOutput(after.id);
  await here.polypod('approvals', 'approve', before.id);
  await here.polypod('approvals', 'deny', after.id, '-m', 'No.');
  await watching.waitForOutput('"comment":"No."');
  watching.child.kill('SIGINT');
  const { code, stdout } = await watching.finished;
  expect(code).toBe(0);
  const lines = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  const question = { tool: 'bash', cwd: here.project, requestedAt: expect.any(String) };
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
  const here = await site([call('bash', { command: 'node -e 1' })]);
  await here.serve();
  const watching = watch(here);
  const { id, session } = await asking(here, 'Mine');
  await watching.waitForOutput('asked');
  await here.polypod('sessions', 'interrupt', session);
  await watching.waitForOutput('cancelled');
  expect(watching.output().stdout).toMatch(
    new RegExp(
      `^asked +${id} +Mine +bash\\n  command: node -e 1\\ncancelled ${id} +Mine +bash +.*node -e 1\\n$`,
    ),
  );
});

it('watch exits with an error when the daemon ends', async () => {
  const here = await site([call('bash', { command: 'node -e 1' })]);
  await here.serve();
  const watching = watch(here);
  const { id } = await asking(here, 'Mine');
  await watching.waitForOutput(id);
  await here.polypod('stop');
  expect(await watching.finished).toMatchObject({
    code: 3,
    stderr: expect.stringContaining('the daemon closed the connection'),
  });
});

it.each([
  [['watch'], 3, 'no daemon is up'],
  [['watch', 'this'], 2, 'watch takes no argument, not "this"'],
  [['list', 'this'], 2, 'list takes no argument, not "this"'],
  [['show'], 2, 'show needs the id of an approval: polypod approvals lists the ids'],
])('%j is refused with the next step', async (args, code, message) => {
  const here = await site();
  expect(await here.polypod('approvals', ...args)).toMatchObject({
    code,
    stderr: expect.stringContaining(message),
  });
});
