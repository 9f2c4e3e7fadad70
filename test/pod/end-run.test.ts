import { expect, it } from 'vitest';
import { endRun } from '../../src/pod/index.ts';
import { ADA, BOB, hostFixture } from './fixture.ts';

const ASK = { parts: [{ toolCall: { name: 'bash', arguments: { command: 'touch made' } } }] };

it('endRun resolves when the run has ended, although the next queued prompt waits for a person', async () => {
  const { host, cwd } = await hostFixture([ASK, ASK]);
  const pod = await host.create({ cwd });
  await pod.handle({ type: 'prompt', content: [{ type: 'text', text: 'first' }] }, ADA);
  await expect.poll(async () => (await pod.snapshot()).approvals.length).toBe(1);
  await pod.handle({ type: 'prompt', content: [{ type: 'text', text: 'second' }], whenBusy: 'queue' }, BOB);
  const first = (await pod.snapshot()).run?.runId;
  expect(await endRun(pod, ADA)).toBe(true);
  await expect.poll(async () => (await pod.snapshot()).approvals.length).toBe(1);
  expect((await pod.snapshot()).run?.runId).not.toBe(first);
});

it('endRun returns false when there is no run', async () => {
  const { host, cwd } = await hostFixture([]);
  expect(await endRun(await host.create({ cwd }), ADA)).toBe(false);
});
