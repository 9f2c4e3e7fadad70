import { expect, test } from 'vitest';
import { uuidv7 } from '../../../src/base/index.ts';
import type { Host } from '../../../src/pod/index.ts';
import { ADA, BOB, Listener, promptCommand, hostFixture } from '../fixture.ts';

const asks = (command = 'node -e 1') => ({
  parts: [{ toolCall: { name: 'bash', arguments: { command } } }],
});
const approve = { decision: 'approve' } as const;

/** A session that waits for an approval. */
async function waiting(host: Host, cwd: string) {
  const pod = await host.create({ cwd });
  const listener = new Listener(pod);
  await pod.handle(promptCommand('Go'), ADA);
  const { approval } = await listener.waitForType('approval-request');
  return { pod, listener, approval };
}

test("a session's row contains the call of a pending approval, then its outcome", async () => {
  const { host, cwd } = await hostFixture([asks(), { parts: [{ text: 'Done.' }] }]);
  const { pod, listener, approval } = await waiting(host, cwd);
  const { approvalId, runId, callId, reason } = approval;
  const call = { approvalId, runId, callId, reason, tool: 'bash', arguments: approval.arguments };
  expect(host.sessions.get(pod.id)).toMatchObject({ approvals: [call] });
  await host.approvals.decide({ approvalId, ...approve, comment: 'Fine.' }, BOB);
  await listener.waitForType('run-end');
  const settlement = { status: 'approved', by: 'bob', door: 'other', comment: 'Fine.' };
  expect(host.sessions.get(pod.id)).toMatchObject({ approvals: [], settled: [{ ...call, settlement }] });
});

test('approvals are found after a restart without opening their sessions', async () => {
  const { host, cwd, reopen } = await hostFixture([
    asks(),
    { parts: [{ text: 'Done.' }] },
    asks('node -e 2'),
  ]);
  const settled = await waiting(host, cwd);
  await host.approvals.decide({ approvalId: settled.approval.approvalId, ...approve }, ADA);
  await settled.listener.waitForType('run-end');
  const pending = await waiting(host, cwd);
  await Promise.all([settled.listener.stop(), pending.listener.stop()]);
  await host.shutdown();
  const again = await reopen();
  const { approval } = pending;
  expect(await again.approvals.pending()).toMatchObject([
    { row: { id: pending.pod.id }, approval: { arguments: approval.arguments, reason: approval.reason } },
  ]);
  expect(await again.approvals.get(approval.approvalId)).toMatchObject({
    approval: { arguments: approval.arguments },
  });
  expect(await again.approvals.get(settled.approval.approvalId)).toMatchObject({
    row: { id: settled.pod.id },
    settlement: { status: 'approved', by: 'ada' },
  });
  expect(again.usage.pods).toBe(0);
});

test('a call that is too long for a row is read from its session', async () => {
  const { host, cwd, reopen } = await hostFixture([]);
  const pod = await host.create({ cwd });
  const json = JSON.stringify({ content: 'x'.repeat(100_000) });
  await pod.handle({ type: 'ask', tool: 'write', arguments: json }, ADA);
  expect(JSON.stringify(host.sessions.get(pod.id)).length).toBeLessThan(10_000);
  await host.shutdown();
  const [found] = await (await reopen()).approvals.pending();
  expect(found?.approval.arguments).toBe(json);
});

test('an approval that the row no longer has is found in the session file', async () => {
  const calls = Array.from({ length: 8 }, (_, index) => ({
    toolCall: { name: 'bash', arguments: { command: `node -e ${index}` } },
  }));
  const { host, cwd, reopen } = await hostFixture([{ parts: calls }, { parts: [{ text: 'Done.' }] }]);
  const { pod, listener, approval } = await waiting(host, cwd);
  await expect.poll(() => host.sessions.get(pod.id)?.approvals.length).toBe(8);
  for (const { approvalId } of host.sessions.get(pod.id)?.approvals ?? [])
    await host.approvals.decide({ approvalId, decision: 'deny', comment: 'No.' }, ADA);
  await listener.waitForType('run-end');
  expect(host.sessions.get(pod.id)?.settled).toHaveLength(5);
  await listener.stop();
  await host.shutdown();
  const again = await reopen();
  expect(await again.approvals.find(approval.approvalId)).toBeUndefined();
  expect(await again.approvals.get(approval.approvalId)).toMatchObject({
    approval: { arguments: approval.arguments },
    settlement: { status: 'denied', comment: 'No.' },
  });
});

test('the first decision wins, and a decision about an unknown approval is rejected', async () => {
  const { host, cwd } = await hostFixture([asks(), { parts: [{ text: 'Done.' }] }]);
  const { approval } = await waiting(host, cwd);
  const { approvalId } = approval;
  await host.approvals.decide({ approvalId, ...approve }, ADA);
  await expect(host.approvals.decide({ approvalId, ...approve }, BOB)).rejects.toMatchObject({
    code: 'conflict',
    message: expect.stringContaining('already approved by ada'),
  });
  const unknown = host.approvals.decide({ approvalId: uuidv7(), ...approve }, ADA);
  await expect(unknown).rejects.toMatchObject({ code: 'not-found' });
});

test('an approval of a child pod is found in the child', async () => {
  const { host, cwd } = await hostFixture([asks()]);
  const parent = await host.create({ cwd });
  const child = await host.spawn(parent.id, { cwd });
  const listener = new Listener(parent);
  await child.handle(promptCommand('Go'), ADA);
  const { approval } = await listener.waitForType('approval-request');
  expect((await host.approvals.pending()).map(({ row }) => row.id).toSorted()).toEqual(
    [parent.id, child.id].toSorted(),
  );
  expect((await host.approvals.find(approval.approvalId))?.row.id).toBe(child.id);
});
