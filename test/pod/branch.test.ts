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

it('branching and rewinding restore the to-do list of the point, and undoing that restores the later one', async () => {
  const { host, cwd } = await hostFixture(() => ({ parts: [{ text: 'Fine.' }] }));
  const pod = await host.create({ cwd });
  const first = { content: 'one', status: 'pending' } as const;
  await pod.handle({ type: 'set-todos', items: [first] }, ADA);
  await pod.handle(promptCommand('one'), ADA);
  await idleSnapshot(pod);
  const later = [{ ...first, status: 'completed' }] as const;
  await pod.handle({ type: 'set-todos', items: later }, ADA);
  const { points } = await pod.rewindPoints();
  await pod.handle({ type: 'rewind', entryId: points[0]?.entryId ?? '' }, ADA);
  expect((await pod.snapshot()).todos).toEqual([first]);
  const { redo } = await pod.rewindPoints();
  await pod.handle({ type: 'rewind', entryId: redo?.entryId ?? '' }, ADA);
  expect((await pod.snapshot()).todos).toEqual(later);
  await pod.handle({ type: 'branch', entryId: 'root' }, ADA);
  expect((await pod.snapshot()).todos).toEqual([]);
});
