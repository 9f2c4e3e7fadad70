import { describe, expect, it } from 'vitest';
import type { Agent, Pod, WrittenTitle } from '../../src/pod/index.ts';
import { ADA, BOB, hostFixture, Listener, promptCommand } from './fixture.ts';

const answers = (...texts: readonly string[]) => texts.map((text) => ({ parts: [{ text }] }));
const WRITTEN: WrittenTitle = {
  title: 'Parser renamed',
  usage: { inputTokens: 100, outputTokens: 5 },
  cost: { total: 0.25, input: 0.2, output: 0.05, cacheRead: 0, cacheWrite: 0 },
};

/** A title that is written when the test says so. */
function slowTitle() {
  const calls: { readonly prompt: string; readonly answer: string; readonly signal: AbortSignal }[] = [];
  let write: (written: WrittenTitle | undefined) => void = () => {};
  const title: NonNullable<Agent['title']> = ({ prompt, answer }, signal) => {
    calls.push({ prompt, answer, signal });
    return new Promise((resolve) => (write = resolve));
  };
  return { title, calls, write: (written: WrittenTitle | undefined) => write(written) };
}

async function prompted(pod: Pod, text: string): Promise<Listener> {
  const listener = new Listener(pod);
  await listener.joined();
  await pod.handle(promptCommand(text), ADA);
  await listener.waitForType('run-end');
  await listener.waitFor((event) => event.type === 'state' && event.state === 'idle');
  return listener;
}

describe('the title of a session', () => {
  it('is the first prompt, also after a later prompt, a compaction and a restart', async () => {
    const { host, cwd, reopen } = await hostFixture(answers('ok', 'again', 'the sum'));
    const { id } = await host.create({ cwd });
    const pod = host.pod(id);
    expect((await pod.snapshot()).title).toBeUndefined();
    await prompted(pod, 'Rename the parser. Then run the tests.');
    const listener = await prompted(pod, 'And the lexer');
    await pod.handle({ type: 'compact', mayGrow: true }, ADA);
    await listener.waitForType('compaction-end');
    const title = { text: 'Rename the parser', source: 'prompt' };
    expect((await pod.snapshot()).title).toEqual(title);
    await host.shutdown();
    const later = await reopen();
    expect((await later.pod(id).snapshot()).title).toEqual(title);
    expect((await later.sessions.list())[0]).toMatchObject({
      firstPrompt: 'Rename the parser. Then run the tests.',
    });
  });

  it('is written by a model after the first finished run, in the background, and survives a restart', async () => {
    const slow = slowTitle();
    const { host, cwd, reopen } = await hostFixture(answers('renamed', 'again'), {
      agent: { title: slow.title },
    });
    const { id } = await host.create({ cwd, settings: { autoTitle: true } });
    const pod = host.pod(id);
    const listener = await prompted(pod, 'Rename the parser');
    expect(slow.calls).toMatchObject([{ prompt: 'Rename the parser', answer: 'renamed' }]);
    const before = (await pod.snapshot()).stats.totals;
    slow.write(WRITTEN);
    const event = await listener.waitForType('title');
    expect(event.title).toBe('Parser renamed');
    const { stats, title } = await pod.snapshot();
    expect(title).toEqual({ text: 'Parser renamed', source: 'model' });
    expect(stats.totals).toMatchObject({
      turns: before.turns,
      inputTokens: before.inputTokens + 100,
      outputTokens: before.outputTokens + 5,
    });
    expect(event.totals).toEqual(stats.totals);
    await host.shutdown();
    const later = await reopen();
    expect(await later.pod(id).snapshot()).toMatchObject({ title, stats: { totals: stats.totals } });
    expect((await later.sessions.list())[0]).toMatchObject({
      title: 'Parser renamed',
      firstPrompt: 'Rename the parser',
      totals: stats.totals,
    });
    await prompted(later.pod(id), 'And again');
    expect(slow.calls).toHaveLength(1);
  });

  it('of a fork is listed as its own first prompt, not that of its parent', async () => {
    const { host, cwd } = await hostFixture(answers('one', 'two'));
    const { id } = await host.create({ cwd });
    await prompted(host.pod(id), 'Rename the parser');
    const fork = await host.fork(id);
    await prompted(fork, 'Rename the lexer');
    const rows = await host.sessions.list();
    expect(rows.find((row) => row.id === fork.id)?.title).toBe('Rename the lexer');
    expect(rows.find((row) => row.id === id)?.title).toBeUndefined();
  });

  it('does not change the time of the last activity', async () => {
    const slow = slowTitle();
    let time = Date.parse('2026-01-01T00:00:00Z');
    const { host, cwd } = await hostFixture(answers('ok'), {
      agent: { title: slow.title },
      now: () => new Date((time += 1_000)),
    });
    const { id } = await host.create({ cwd, settings: { autoTitle: true } });
    const listener = await prompted(host.pod(id), 'Rename the parser');
    const [before] = await host.sessions.list();
    slow.write(WRITTEN);
    await listener.waitForType('title');
    const [after] = await host.sessions.list();
    expect(after).toMatchObject({ title: 'Parser renamed', updatedAt: before?.updatedAt });
  });

  it.each([
    ['the session has a name', { autoTitle: true, name: 'parser' }],
    ['nobody asked for it', {}],
  ])('is not written by a model if %s', async (_, settings) => {
    const slow = slowTitle();
    const { host, cwd } = await hostFixture(answers('ok'), { agent: { title: slow.title } });
    const { id } = await host.create({ cwd, settings });
    await prompted(host.pod(id), 'Rename the parser');
    expect(slow.calls).toEqual([]);
  });

  it('does not replace a name that a person gives in the meantime', async () => {
    const slow = slowTitle();
    const { host, cwd } = await hostFixture(answers('ok'), { agent: { title: slow.title } });
    const { id } = await host.create({ cwd, settings: { autoTitle: true } });
    const pod = host.pod(id);
    const listener = await prompted(pod, 'Rename the parser');
    await pod.handle({ type: 'configure', set: { name: 'mine' } }, BOB);
    slow.write(WRITTEN);
    await listener.waitForType('title');
    expect((await pod.snapshot()).settings.name).toBe('mine');
    expect((await host.sessions.list())[0]?.name).toBe('mine');
  });

  it('stays the prompt if no title is written; the next process tries again', async () => {
    const slow = slowTitle();
    const { host, cwd, reopen } = await hostFixture(answers('ok', 'ok', 'ok'), {
      agent: { title: slow.title },
    });
    const { id } = await host.create({ cwd, settings: { autoTitle: true } });
    await prompted(host.pod(id), 'Rename the parser');
    slow.write(undefined);
    await prompted(host.pod(id), 'And the lexer');
    expect(slow.calls).toHaveLength(1);
    await host.shutdown();
    const later = await reopen();
    const listener = await prompted(later.pod(id), 'Again');
    expect(slow.calls).toHaveLength(2);
    slow.write(WRITTEN);
    await listener.waitForType('title');
  });

  it('is not waited for when the pod is closed', async () => {
    const slow = slowTitle();
    const { host, cwd } = await hostFixture(answers('ok'), { agent: { title: slow.title } });
    const { id } = await host.create({ cwd, settings: { autoTitle: true } });
    await prompted(host.pod(id), 'Rename the parser');
    await host.shutdown();
    expect(slow.calls[0]?.signal.aborted).toBe(true);
    slow.write(WRITTEN);
  });
});
