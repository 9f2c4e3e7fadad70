import { expect, it, onTestFinished } from 'vitest';
import { parseObject, objectOf } from '../../../src/base/index.ts';
import { watchApprovals } from '../../../src/daemon/control/watch-approvals.ts';
import type { Host, Pod } from '../../../src/pod/index.ts';
import { ADA, BOB, Listener, promptCommand, hostFixture } from '../../pod/fixture.ts';

const ASK = { type: 'ask', tool: 'bash', arguments: '{}', title: 'node -e 1' } as const;

/** Records the events of a watcher as session, type, status and user. */
class Watcher {
  readonly #received: string[] = [];
  /** The arguments of the calls, in the same order. */
  readonly arguments: unknown[] = [];
  #wake = (): void => {};

  constructor(host: Host, names: ReadonlyMap<string, string>) {
    const leave = new AbortController();
    const send = async (line: string): Promise<void> => {
      const watched = objectOf(parseObject(line)?.watched);
      const { type, session, status, by } = watched;
      this.#received.push([names.get(String(session)), type, status, by].filter(Boolean).join(' '));
      this.arguments.push(watched.arguments);
      this.#wake();
    };
    const watching = watchApprovals(host, { send, signal: leave.signal });
    onTestFinished(async () => {
      leave.abort();
      await watching;
    });
  }

  async received(count: number): Promise<readonly string[]> {
    while (this.#received.length < count)
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    return this.#received;
  }
}

async function ask(pod: Pod): Promise<string> {
  return (await pod.handle(ASK, ADA)).approvalId ?? '';
}

it('sends pending approvals first, then new and settled ones, in order', async () => {
  const { host, cwd } = await hostFixture([]);
  const [one, two] = [await host.create({ cwd }), await host.create({ cwd })];
  const names = new Map([
    [one.id, 'one'],
    [two.id, 'two'],
  ]);
  const first = await ask(one);
  const watcher = new Watcher(host, names);
  await watcher.received(1);
  const second = await ask(two);
  const third = await ask(one);
  await one.handle({ type: 'decide', approvalId: third, decision: 'deny', comment: 'no' }, BOB);
  await two.handle({ type: 'decide', approvalId: second, decision: 'approve' }, ADA);
  await one.handle({ type: 'decide', approvalId: first, decision: 'approve' }, BOB);
  expect(await watcher.received(6)).toEqual([
    'one asked',
    'two asked',
    'one asked',
    'one settled denied bob',
    'two settled approved ada',
    'one settled approved bob',
  ]);
});

it('sends an approval of a child once, for the child', async () => {
  const asks = { parts: [{ toolCall: { name: 'bash', arguments: { command: 'node -e 1' } } }] };
  const { host, cwd } = await hostFixture([asks, { parts: [{ text: 'done' }] }]);
  const parent = await host.create({ cwd });
  const child = await host.spawn(parent.id, { cwd });
  const other = await host.create({ cwd });
  const watcher = new Watcher(
    host,
    new Map([
      [parent.id, 'parent'],
      [child.id, 'child'],
      [other.id, 'other'],
    ]),
  );
  const listener = new Listener(parent);
  await child.handle(promptCommand('go'), ADA);
  const { approval } = await listener.waitForType('approval-request');
  await parent.handle({ type: 'decide', approvalId: approval.approvalId, decision: 'approve' }, BOB);
  await watcher.received(2);
  // Any further event of the child would come before this one.
  await ask(other);
  expect(await watcher.received(3)).toEqual(['child asked', 'child settled approved bob', 'other asked']);
});

it('sends the complete call, also of an approval that is settled at once', async () => {
  const { host, cwd } = await hostFixture([]);
  const pod = await host.create({ cwd });
  const watcher = new Watcher(host, new Map([[pod.id, 'pod']]));
  const json = JSON.stringify({ command: `touch z1\n${'x'.repeat(300)}` });
  const { approvalId = '' } = await pod.handle({ ...ASK, arguments: json }, ADA);
  await pod.handle({ type: 'decide', approvalId, decision: 'approve' }, BOB);
  expect(await watcher.received(2)).toEqual(['pod asked', 'pod settled approved bob']);
  expect(watcher.arguments).toEqual([json, json]);
});
