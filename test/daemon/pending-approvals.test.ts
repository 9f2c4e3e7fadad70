import { expect, test } from 'vitest';
import { pendingApprovals } from '../../src/daemon/sessions/pending-approvals.ts';
import { ADA, Listener, promptCommand, hostFixture } from '../pod/fixture.ts';

const ASKS = { parts: [{ toolCall: { name: 'bash', arguments: { command: 'node -e 1' } } }] };

test('pending approvals are listed oldest first, with their session', async () => {
  const { host, cwd } = await hostFixture([ASKS, ASKS]);
  const ids: string[] = [];
  for (const name of ['first', 'second']) {
    const pod = await host.create({ cwd, settings: { name } });
    const listener = new Listener(pod);
    await pod.handle(promptCommand('Go'), ADA);
    ids.push((await listener.waitForType('approval-request')).approval.approvalId);
  }
  expect(await pendingApprovals(host)).toMatchObject([
    { id: ids[0], name: 'first', tool: 'bash', cwd, title: expect.stringContaining('node -e 1') },
    { id: ids[1], name: 'second' },
  ]);
});

test('an approval of a child is listed once, for the child', async () => {
  const { host, cwd } = await hostFixture([ASKS]);
  const parent = await host.create({ cwd, settings: { name: 'parent' } });
  const child = await host.spawn(parent.id, { cwd, settings: { name: 'child' } });
  const listener = new Listener(parent);
  await child.handle(promptCommand('Go'), ADA);
  const { approval } = await listener.waitForType('approval-request');
  expect(await host.approvals.pending()).toHaveLength(2);
  expect(await pendingApprovals(host)).toMatchObject([
    { id: approval.approvalId, session: child.id, name: 'child' },
  ]);
});

test('a pending approval has the complete call, also after a restart and after its session was unloaded', async () => {
  const command = `touch z1\n${'true && '.repeat(60)}rm -rf important`;
  const { host, cwd, reopen } = await hostFixture([
    { parts: [{ toolCall: { name: 'bash', arguments: { command } } }] },
  ]);
  const pod = await host.create({ cwd });
  const listener = new Listener(pod);
  await pod.handle(promptCommand('Go'), ADA);
  const { approval } = await listener.waitForType('approval-request');
  const whole = { id: approval.approvalId, arguments: JSON.stringify({ command }), reason: approval.reason };
  expect(await pendingApprovals(host)).toMatchObject([whole]);
  await listener.stop();
  await host.shutdown();
  expect(await pendingApprovals(await reopen())).toMatchObject([whole]);
});

test('a pending approval of a session that another process has open is listed without the call', async () => {
  const { host, cwd, reopen } = await hostFixture([ASKS]);
  const pod = await host.create({ cwd });
  const listener = new Listener(pod);
  await pod.handle(promptCommand('Go'), ADA);
  const { approval } = await listener.waitForType('approval-request');
  const [listed, ...others] = await pendingApprovals(await reopen());
  expect([listed?.id, listed?.arguments, others]).toEqual([approval.approvalId, undefined, []]);
});
