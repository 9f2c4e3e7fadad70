import { expect, test } from 'vitest';
import type { SimAnswer } from '../../src/sim/index.ts';
import { ADA, Listener, promptCommand, hostFixture } from './fixture.ts';

const slow: SimAnswer = { parts: [{ text: 'word '.repeat(2000) }], pace: { delayMs: 20, chunkSize: 4 } };
const touch: SimAnswer = { parts: [{ toolCall: { name: 'bash', arguments: { command: 'touch made' } } }] };

test('a draining host starts no run and reports why; queued prompts stay for the next process', async () => {
  const { host, cwd, reopen } = await hostFixture([{ parts: [{ text: 'Later.' }] }]);
  const pod = await host.create({ cwd });
  await host.drain(0);
  await expect(pod.handle(promptCommand('Now'), ADA)).rejects.toThrow(
    'the host is shutting down and starts no run',
  );
  expect(await pod.handle({ ...promptCommand('Later'), whenBusy: 'queue' }, ADA)).toMatchObject({
    queueId: expect.any(String),
  });
  await host.shutdown();
  const next = await reopen();
  expect(await next.recover()).toEqual([pod.id]);
  const listener = new Listener(next.pod(pod.id), 0);
  await listener.waitForType('run-end');
});

test('draining waits for an active run until the timeout', async () => {
  const { host, cwd } = await hostFixture([slow]);
  const pod = await host.create({ cwd });
  const listener = new Listener(pod);
  await pod.handle(promptCommand('Write'), ADA);
  await listener.waitForType('block-delta');
  let isDrained = false;
  const draining = host.drain(60_000).then(() => (isDrained = true));
  await new Promise((settle) => setImmediate(settle));
  expect(isDrained).toBe(false);
  await pod.handle({ type: 'cancel' }, ADA);
  await draining;
  await host.drain(0);
});

test('a run that waits for a person does not delay draining, and survives the shutdown', async () => {
  const { host, cwd, reopen } = await hostFixture([touch, { parts: [{ text: 'Done.' }] }]);
  const pod = await host.create({ cwd });
  const listener = new Listener(pod);
  await pod.handle(promptCommand('Make it'), ADA);
  const { approval } = await listener.waitForType('approval-request');
  await host.drain(60_000);
  await host.shutdown();
  const next = await reopen();
  const again = next.pod(pod.id);
  expect((await again.snapshot()).state).toBe('waiting');
  const { approvalId } = approval;
  await again.handle({ type: 'decide', approvalId, decision: 'deny' }, ADA);
  const after = new Listener(again, 0);
  await after.waitFor((event) => event.type === 'run-end' && event.outcome.status === 'finished');
});

test('onPods reports which pods are loaded and unloaded', async () => {
  const { host, cwd } = await hostFixture([], { hibernateAfterMs: 10 });
  const early = await host.create({ cwd });
  const moves: string[] = [];
  const stop = host.onPods((id, move) => moves.push(`${move} ${id}`));
  const late = await host.create({ cwd });
  while (!moves.includes(`out ${late.id}`)) await new Promise((settle) => setImmediate(settle));
  stop();
  await early.snapshot();
  expect(moves.filter((move) => move.endsWith(late.id))).toEqual([`in ${late.id}`, `out ${late.id}`]);
  expect(moves).toContain(`in ${early.id}`);
});
