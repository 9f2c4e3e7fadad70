import { expect, it } from 'vitest';
import { realFiles } from '../../../src/store/index.ts';
import { ADA, Listener, promptCommand, hostFixture } from '../fixture.ts';

it('a watcher whose events are removed before it reads them gets a snapshot, then later events', async () => {
  let isGone = false;
  const files = {
    ...realFiles,
    openToRead: (path: string) => {
      if (isGone && path.includes('feeds')) throw Object.assign(new Error('gone'), { code: 'ENOENT' });
      return realFiles.openToRead(path);
    },
  };
  const { host, cwd } = await hostFixture(() => ({ parts: [{ text: 'Fine.' }] }), { files });
  const pod = await host.create({ cwd });
  const first = new Listener(pod, 0);
  await pod.handle(promptCommand('one'), ADA);
  await first.waitFor((event) => event.type === 'state' && event.state === 'idle');
  isGone = true;
  const late = new Listener(pod, 0);
  const { reason, snapshot } = await late.joined();
  expect(reason).toBe('gap');
  expect(snapshot.items).toHaveLength(2);
  await pod.handle(promptCommand('two'), ADA);
  await late.waitFor((event) => event.type === 'state' && event.state === 'idle');
  expect(late.events[0]?.seq).toBe(snapshot.seq + 1);
});
