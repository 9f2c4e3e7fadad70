import { expect, it } from 'vitest';
import { idleSnapshot } from './crash/pod-reader.ts';
import { ADA, Listener, promptCommand, hostFixture } from './fixture.ts';

it('branching to an entry that a compaction kept loads its full history, also after a reopen', async () => {
  // So small that a few messages trigger a compaction.
  const { host, cwd, reopen } = await hostFixture(() => ({ parts: [{ text: 'Fine.' }] }), {
    agent: { contextWindow: 20 },
  });
  const pod = await host.create({ cwd, settings: { autoCompaction: false } });
  const listener = new Listener(pod, 0);
  for (const text of ['one', 'two']) {
    await pod.handle(promptCommand(text), ADA);
    await idleSnapshot(pod);
  }
  const before = await pod.snapshot();
  const answers = listener.events.filter(({ type }) => type === 'llm-end');
  const kept = answers.at(-1)?.entryId ?? '';
  for (let times = 0; times < 2; times += 1) {
    await pod.handle({ type: 'compact' }, ADA);
    await idleSnapshot(pod);
  }
  await host.shutdown();
  const again = (await reopen()).pod(pod.id);
  await again.handle({ type: 'branch', entryId: kept }, ADA);
  expect((await again.snapshot()).items).toEqual(before.items);
  expect((await again.snapshot()).turn).toBe(before.turn);
});
