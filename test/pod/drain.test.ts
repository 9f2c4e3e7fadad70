import { expect, test } from 'vitest';
import type { Answer } from '../../src/sim/index.ts';
import { ADA, Listener, say, stage } from './fixture.ts';

const slow: Answer = { parts: [{ text: 'word '.repeat(2000) }], pace: { delayMs: 20, chunkSize: 4 } };
const touch: Answer = { parts: [{ toolCall: { name: 'bash', arguments: { command: 'touch made' } } }] };

test('a draining host starts no run and reports why; queued prompts stay for the next process', async () => {
  const { host, cwd, reopen } = await stage([{ parts: [{ text: 'Later.' }] }]);
  const pod = await host.create({ cwd });
  await host.drain(0);
  await expect(pod.handle(say('Now'), ADA)).rejects.toThrow('the host is shutting down and starts no run');
  expect(await pod.handle({ ...say('Later'), whenBusy: 'queue' }, ADA)).toMatchObject({
    queueId: expect.any(String),
  });
  await host.shutdown();
  const next = await reopen();
  expect(await next.recover()).toEqual([pod.id]);
  const listener = new Listener(next.pod(pod.id), 0);
  await listener.hearType('run-end');
});

test('draining waits for an active run until the timeout', async () => {
  const { host, cwd } = await stage([slow]);
  const pod = await host.create({ cwd });
  const listener = new Listener(pod);
  await pod.handle(say('Write'), ADA);
  await listener.hearType('block-delta');
  let isDrained = false;
  const draining = host.drain(60_000).then(() => (isDrained = true));
  await new Promise((settle) => setImmediate(settle));
  expect(isDrained).toBe(false);
  await pod.handle({ type: 'cancel' }, ADA);
  await draining;
  await host.drain(0);
});

test('a run that waits for a person does not delay draining, and survives the shutdown', async () => {
  const { host, cwd, reopen } = await stage([touch, { parts: [{ text: 'Done.' }] }]);
  const pod = await host.create({ cwd });
  const listener = new Listener(pod);
  await pod.handle(say('Make it'), ADA);
  const { approval } = await listener.hearType('approval-request');
  await host.drain(60_000);
  await host.shutdown();
  const next = await reopen();
  const again = next.pod(pod.id);
  expect((await again.snapshot()).state).toBe('waiting');
  const { approvalId } = approval;
  await again.handle({ type: 'decide', approvalId, decision: 'deny' }, ADA);
  const after = new Listener(again, 0);
  await after.hear((event) => event.type === 'run-end' && event.outcome.status === 'finished');
});

test('onPods reports which pods are loaded and unloaded', async () => {
  const { host, cwd } = await stage([], { hibernateAfterMs: 10 });
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
