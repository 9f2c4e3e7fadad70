import { expect, it } from 'vitest';
import { listedSession } from '../../src/protocols/hld/sessions/session.ts';
import { wireSnapshot } from '../../src/protocols/pod/encode/snapshot.ts';
import { ADA, hostFixture, Listener, promptCommand } from '../pod/fixture.ts';

const PROMPT = 'Rename the parser. Then run the tests.';

it('a title that a model has written is the same on every door, and the query of HumanLayer stays the prompt', async () => {
  const { host, cwd } = await hostFixture([{ parts: [{ text: 'ok' }] }], {
    agent: { title: async () => ({ title: 'Parser renamed', usage: undefined, cost: undefined }) },
  });
  const { id } = await host.create({ cwd, settings: { autoTitle: true } });
  const pod = host.pod(id);
  const listener = new Listener(pod);
  await pod.handle(promptCommand(PROMPT), ADA);
  await listener.waitForType('title');
  expect(wireSnapshot(await pod.snapshot(), 'joined')).toMatchObject({ title: 'Parser renamed' });
  const shown = async () => {
    const row = host.sessions.get(id);
    return row && listedSession(row, 'completed', 0, undefined);
  };
  expect(await shown()).toMatchObject({ title: 'Parser renamed', query: PROMPT, summary: PROMPT });
  await pod.handle({ type: 'configure', set: { name: 'mine' } }, ADA);
  expect(await shown()).toMatchObject({ title: 'mine', query: PROMPT });
});
