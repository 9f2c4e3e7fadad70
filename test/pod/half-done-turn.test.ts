import { describe, expect, it } from 'vitest';
import type { Pod, Snapshot } from '../../src/pod/index.ts';
import { shape } from '../../src/base/index.ts';
import { defineTool, type Tool, textOutput } from '../../src/tools/index.ts';
import { killedCopy } from './resume/resume-fixture.ts';
import { ADA, Listener, promptCommand, hostFixture } from './fixture.ts';

/** Two tools that need approval and record that they ran; `slow` runs until it is stopped. */
function effects() {
  const ran: string[] = [];
  const asking = (name: string, parallel: boolean, run: (signal: AbortSignal) => Promise<void>): Tool => ({
    ...defineTool({
      name,
      description: name,
      input: shape.fields({ n: shape.integerFrom(1) }, {}),
      parallel,
      access: () => [{ type: 'foreign', readOnly: false }],
      title: ({ n }) => `${name} ${n}`,
      run: async ({ n }, _, signal) => {
        ran.push(`${name} ${n}`);
        await run(signal);
        return textOutput('done', `${name} ${n} is done`);
      },
    }),
  });
  return {
    ran,
    tools: [
      asking('quick', false, async () => {}),
      asking('apart', true, async () => {}),
      asking(
        'slow',
        false,
        (signal) => new Promise((resolve) => signal.addEventListener('abort', () => resolve())),
      ),
    ],
  };
}

const turn = (...names: readonly string[]) => ({
  parts: names.map((name, at) => ({ toolCall: { name, arguments: { n: at + 1 } } })),
});
const approve = async (pod: Pod, title: string): Promise<void> => {
  const approval = (await pod.snapshot()).approvals.find((pending) => pending.title === title);
  if (approval === undefined) throw new Error(`there is no approval for ${title}`);
  await pod.handle({ type: 'decide', approvalId: approval.approvalId, decision: 'approve' }, ADA);
};
const results = ({ items }: Snapshot): readonly string[] =>
  items.flatMap((item) =>
    item.type === 'tool-result' ? item.content.map((part) => (part.type === 'text' ? part.text : '')) : [],
  );

async function waiting(pod: Pod): Promise<void> {
  const listener = new Listener(pod, 0);
  await listener.waitFor((event) => event.type === 'state' && event.state === 'waiting');
  await listener.stop();
}

describe('a turn with finished calls and calls that wait for approval', () => {
  it('requests approvals in call order and runs each call when it is approved', async () => {
    const { ran, tools } = effects();
    const { host, cwd } = await hostFixture(
      [turn('quick', 'quick', 'quick'), { parts: [{ text: 'Done.' }] }],
      {
        tools,
      },
    );
    const pod = await host.create({ cwd });
    const listener = new Listener(pod, 0);
    await pod.handle(promptCommand('go'), ADA);
    await waiting(pod);
    const { approvals } = await pod.snapshot();
    expect(approvals.map(({ title }) => title)).toEqual(['quick 1', 'quick 2', 'quick 3']);
    await approve(pod, 'quick 1');
    await listener.waitFor((event) => event.type === 'tool-end');
    expect(ran).toEqual(['quick 1']);
    expect((await pod.snapshot()).state).toBe('waiting');
    await approve(pod, 'quick 3');
    await approve(pod, 'quick 2');
    await listener.waitFor((event) => event.type === 'run-end');
    expect(ran).toEqual(['quick 1', 'quick 2', 'quick 3']);
  });

  it.each([
    ['quick', 'quick 1', 'killed'],
    ['apart', 'apart 2', 'killed'],
    ['quick', 'quick 1', 'closed'],
    ['apart', 'apart 2', 'closed'],
  ] as const)('runs nothing twice: %s, %s has run, the host is %s', async (name, first, how) => {
    const { ran, tools } = effects();
    const { host, cwd, directory, reopen } = await hostFixture(
      [turn(name, name), { parts: [{ text: 'Done.' }] }],
      {
        tools,
      },
    );
    const pod = await host.create({ cwd });
    const listener = new Listener(pod, 0);
    await pod.handle(promptCommand('go'), ADA);
    await waiting(pod);
    await approve(pod, first);
    await listener.waitFor((event) => event.type === 'tool-end');
    await pod.snapshot();
    const copy = how === 'killed' ? killedCopy(directory) : directory;
    if (how === 'closed') await host.shutdown();
    const again = (await reopen({ directory: copy })).pod(pod.id);
    const { state, approvals } = await again.snapshot();
    expect(state).toBe('waiting');
    expect(approvals).toHaveLength(1);
    const end = new Listener(again, (await again.snapshot()).seq);
    await approve(again, approvals[0]?.title ?? '');
    await end.waitFor((event) => event.type === 'run-end');
    expect(ran.toSorted()).toEqual([`${name} 1`, `${name} 2`]);
    expect(results(await again.snapshot())).toEqual([`${name} 1 is done`, `${name} 2 is done`]);
  });

  it.each(['killed', 'closed'] as const)(
    'does not start a call again that ran when the host was %s',
    async (how) => {
      const { ran, tools } = effects();
      const { host, cwd, directory, reopen } = await hostFixture(
        [turn('slow', 'quick'), { parts: [{ text: 'Done.' }] }],
        { tools },
      );
      const pod = await host.create({ cwd });
      const listener = new Listener(pod, 0);
      await pod.handle(promptCommand('go'), ADA);
      await waiting(pod);
      await approve(pod, 'slow 1');
      await listener.waitFor((event) => event.type === 'tool-start');
      while (ran.length === 0) await new Promise((resolve) => setImmediate(resolve));
      const copy = how === 'killed' ? killedCopy(directory) : directory;
      if (how === 'closed') await host.shutdown();
      const again = (await reopen({ directory: copy })).pod(pod.id);
      const end = new Listener(again, (await again.snapshot()).seq);
      await approve(again, 'quick 2');
      await end.waitFor((event) => event.type === 'run-end');
      expect(ran).toEqual(['slow 1', 'quick 2']);
      const [first, second] = results(await again.snapshot());
      if (how === 'killed') expect(first).toContain('It may or may not have taken effect');
      expect(second).toBe('quick 2 is done');
    },
  );

  it('resumes with the first decision after a restart, and waits for the others', async () => {
    const { ran, tools } = effects();
    const { host, cwd, reopen } = await hostFixture(
      [turn('quick', 'quick'), { parts: [{ text: 'Done.' }] }],
      {
        tools,
      },
    );
    const pod = await host.create({ cwd });
    await pod.handle(promptCommand('go'), ADA);
    await waiting(pod);
    await host.shutdown();
    const again = (await reopen()).pod(pod.id);
    const listener = new Listener(again, (await again.snapshot()).seq);
    await approve(again, 'quick 1');
    await listener.waitFor((event) => event.type === 'tool-end');
    expect(await again.snapshot()).toMatchObject({ state: 'waiting', approvals: [{ title: 'quick 2' }] });
    expect(ran).toEqual(['quick 1']);
    await approve(again, 'quick 2');
    await listener.waitFor((event) => event.type === 'run-end');
    expect(ran).toEqual(['quick 1', 'quick 2']);
  });

  it('keeps existing results when it is cancelled after a restart', async () => {
    const { tools } = effects();
    const { host, cwd, reopen } = await hostFixture([turn('quick', 'quick')], { tools });
    const pod = await host.create({ cwd });
    const before = new Listener(pod, 0);
    await pod.handle(promptCommand('go'), ADA);
    await waiting(pod);
    await approve(pod, 'quick 1');
    await before.waitFor((event) => event.type === 'tool-end');
    await host.shutdown();
    const again = (await reopen()).pod(pod.id);
    await again.handle({ type: 'cancel' }, ADA);
    const snapshot = await again.snapshot();
    expect(snapshot.state).toBe('idle');
    expect(results(snapshot)).toEqual(['quick 1 is done', 'Tool execution was aborted']);
  });
});
