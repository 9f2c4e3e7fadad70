import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PolypodError } from '../../src/base/index.ts';
import type { Caller, Host, Pod, PodCommand, PodEvent, Receipt } from '../../src/pod/index.ts';
import { killedCopy, scriptedModel, turns, recordingTool } from './resume/resume-fixture.ts';
import { logOf } from './resume/resume-watchers.ts';
import { ADA, BOB, Listener, promptCommand, type HostFixture, hostFixture } from './fixture.ts';

/** A pod in a state in which a command can be sent. */
interface Scenario {
  readonly pod: Pod;
  readonly listener: Listener;
  readonly host: Host;
}

interface Case {
  /** Brings the pod into that state and returns the command. */
  readonly set: (scenario: Scenario) => Promise<PodCommand>;
  /** The events that count as its effect. */
  readonly effect: (event: PodEvent) => boolean;
  /** The same command with other content. */
  readonly other?: (command: PodCommand) => PodCommand;
}

const is =
  (...types: readonly PodEvent['type'][]) =>
  (event: PodEvent): boolean =>
    types.includes(event.type);
const commanded = (type: PodCommand['type']) => (event: PodEvent) =>
  event.type === 'commanded' && event.command === type;

const STALLED = promptCommand('go\n[[sim deltas=20 fault=stall after=3]]');
const stalled = async ({ pod, listener }: Scenario): Promise<void> => {
  await pod.handle(STALLED);
  await listener.waitForType('block-delta');
};
const pendingApprovalId = async ({ pod, listener }: Scenario): Promise<string> => {
  await pod.handle(promptCommand('call record_call'));
  return (await listener.waitForType('approval-request')).approval.approvalId;
};
const called = async ({ pod, listener }: Scenario): Promise<string> => {
  const clientTools = [{ name: 'theirs', description: 'Theirs.', parameters: { type: 'object' } }];
  await pod.handle({
    type: 'configure',
    set: { clientTools, rules: [{ tool: 'theirs', action: 'auto' }] },
  });
  await pod.handle(promptCommand('call theirs'));
  return (await listener.waitForType('client-call')).callId;
};
const text = (words: string) => [{ type: 'text' as const, text: words }];

const CASES: { readonly [T in PodCommand['type']]: Case } = {
  prompt: {
    set: async () => promptCommand('hello'),
    effect: is('run-start'),
    other: () => promptCommand('other'),
  },
  steer: { set: async () => ({ type: 'steer', content: text('left') }), effect: is('queued') },
  'follow-up': { set: async () => ({ type: 'follow-up', content: text('and') }), effect: is('queued') },
  'clear-queue': {
    set: async ({ pod }) => {
      await pod.handle({ type: 'steer', content: text('left') });
      return { type: 'clear-queue' };
    },
    effect: is('unqueued'),
  },
  cancel: {
    set: async (scenario) => {
      await stalled(scenario);
      return { type: 'cancel' };
    },
    effect: commanded('cancel'),
  },
  pause: {
    set: async (scenario) => {
      await pendingApprovalId(scenario);
      return { type: 'pause' };
    },
    effect: commanded('pause'),
  },
  resume: {
    set: async (scenario) => {
      const approvalId = await pendingApprovalId(scenario);
      await scenario.pod.handle({ type: 'pause' });
      await scenario.pod.handle({ type: 'decide', approvalId, decision: 'approve' });
      await scenario.listener.waitFor((event) => event.type === 'state' && event.state === 'paused');
      return { type: 'resume' };
    },
    effect: (event) => event.type === 'run-start' && event.by === 'ada',
  },
  'abort-retry': {
    set: async ({ pod, listener }) => {
      await pod.handle(promptCommand('go\n[[sim fault=429 retry-after=30]]'));
      await listener.waitForType('retry-start');
      return { type: 'abort-retry' };
    },
    effect: commanded('abort-retry'),
  },
  decide: {
    set: async (scenario) => ({
      type: 'decide',
      approvalId: await pendingApprovalId(scenario),
      decision: 'approve',
    }),
    effect: is('approval-response'),
    other: (command) => ({ ...command, decision: 'deny' }) as PodCommand,
  },
  ask: { set: async () => ({ type: 'ask', tool: 'x', arguments: '{}' }), effect: is('approval-request') },
  configure: {
    set: async () => ({ type: 'configure', set: { name: 'named' } }),
    effect: (event) => event.type === 'settings' && event.by === 'ada',
  },
  compact: { set: async () => ({ type: 'compact' }), effect: is('compaction-start') },
  branch: {
    set: async ({ pod, listener }) => {
      await pod.handle(promptCommand('hello'));
      await listener.waitFor((event) => event.type === 'state' && event.state === 'idle');
      return { type: 'branch', entryId: 'root' };
    },
    effect: is('branched'),
  },
  rewind: {
    set: async ({ pod, listener }) => {
      await pod.handle(promptCommand('hello'));
      await listener.waitFor((event) => event.type === 'state' && event.state === 'idle');
      const { points } = await pod.rewindPoints();
      return { type: 'rewind', entryId: points[0]?.entryId ?? '' };
    },
    effect: is('rewound'),
  },
  shell: { set: async () => ({ type: 'shell', command: 'echo ran >> ran' }), effect: is('shell-start') },
  'abort-shell': {
    set: async ({ pod, listener }) => {
      await pod.handle({ type: 'shell', command: 'echo up; sleep 600' });
      await listener.waitForType('shell-update');
      return { type: 'abort-shell' };
    },
    effect: commanded('abort-shell'),
  },
  'end-background': {
    set: async ({ pod, listener }) => {
      await pod.handle({ type: 'configure', set: { mode: 'full-access' } });
      await pod.handle(promptCommand('call bash {"command":"sleep 600","background":true}'));
      await listener.waitForType('background-start');
      return { type: 'end-background' };
    },
    effect: commanded('end-background'),
  },
  'set-todos': {
    set: async () => ({ type: 'set-todos', items: [{ content: 'a', status: 'pending' }] }),
    effect: is('todos'),
  },
  'tool-result': {
    set: async (scenario) => ({
      type: 'tool-result',
      callId: await called(scenario),
      content: text('theirs'),
    }),
    effect: commanded('tool-result'),
  },
  'tool-update': {
    set: async (scenario) => ({ type: 'tool-update', callId: await called(scenario), text: 'so far' }),
    effect: is('tool-update'),
  },
  close: { set: async () => ({ type: 'close' }), effect: is('closed') },
};

const OPTIONS = { tools: [recordingTool(() => {})] };
const KEYED: Caller = { ...ADA, key: 'k' };

async function scenarioOn({ host, cwd }: HostFixture): Promise<Scenario> {
  const pod = await host.create({ cwd });
  return { host, pod, listener: new Listener(pod, 0) };
}

async function effects(pod: Pod, effect: Case['effect']): Promise<number> {
  const log = await logOf(pod, (await pod.snapshot()).seq);
  return log.filter(effect).length;
}

/** Another command of the same type if there is one, else of another type. */
function otherThan({ other }: Case, command: PodCommand): PodCommand {
  if (other !== undefined) return other(command);
  return command.type === 'set-todos' ? { type: 'clear-queue' } : { type: 'set-todos', items: [] };
}

describe.each(Object.entries(CASES))('%s with an idempotency key', (_, one) => {
  it('takes effect once when it is sent twice, concurrently and later, and returns the same receipt', async () => {
    const fixture = await hostFixture(scriptedModel, OPTIONS);
    const scenario = await scenarioOn(fixture);
    const command = await one.set(scenario);
    const before = await effects(scenario.pod, one.effect);
    const receipts = await Promise.all([1, 2, 3].map(() => scenario.pod.handle(command, KEYED)));
    await turns(20);
    receipts.push(await scenario.pod.handle(command, KEYED));
    expect(new Set(receipts.map((receipt) => JSON.stringify(receipt))).size).toBe(1);
    expect(await effects(scenario.pod, one.effect)).toBe(before + 1);
  });

  it('takes effect once across a kill and a shutdown, and returns the same receipt', async () => {
    const fixture = await hostFixture(scriptedModel, OPTIONS);
    const scenario = await scenarioOn(fixture);
    const command = await one.set(scenario);
    const before = await effects(scenario.pod, one.effect);
    const receipt = await scenario.pod.handle(command, KEYED);
    const copy = killedCopy(fixture.directory);
    await fixture.host.shutdown();
    for (const directory of [copy, fixture.directory]) {
      const host = await fixture.reopen({ directory });
      const pod = host.pod(scenario.pod.id);
      expect(await pod.handle(command, KEYED)).toEqual(receipt);
      expect(await effects(pod, one.effect)).toBe(before + 1);
      await host.shutdown();
    }
  });

  it("is rejected with other content, and independent of another caller's same key", async () => {
    const fixture = await hostFixture(scriptedModel, OPTIONS);
    const scenario = await scenarioOn(fixture);
    const command = await one.set(scenario);
    await scenario.pod.handle(command, KEYED);
    const refused = scenario.pod.handle(otherThan(one, command), KEYED);
    await expect(refused).rejects.toMatchObject({
      code: 'conflict',
      message: 'the idempotency key "k" was used for another command: use a new key for each command',
    });
    const todos: PodCommand = {
      type: 'set-todos',
      items: [{ content: 'bob was here', status: 'completed' }],
    };
    await scenario.pod.handle(todos, { ...BOB, key: 'k' });
    expect((await scenario.pod.snapshot()).todos).toEqual(todos.items);
  });
});

describe('idempotency keys', () => {
  it('may be reused for a rejected command', async () => {
    const fixture = await hostFixture(scriptedModel, OPTIONS);
    const { pod, listener } = await scenarioOn(fixture);
    await pod.handle(STALLED);
    await expect(pod.handle(promptCommand('second'), KEYED)).rejects.toMatchObject({ code: 'conflict' });
    await pod.handle({ type: 'cancel' });
    await listener.waitFor((event) => event.type === 'state' && event.state === 'idle');
    const receipt = await pod.handle(promptCommand('second'), KEYED);
    expect(await pod.handle(promptCommand('second'), KEYED)).toEqual(receipt);
    expect(await effects(pod, is('run-start'))).toBe(2);
  });

  it('match a command regardless of the order of its fields', async () => {
    const fixture = await hostFixture(scriptedModel, OPTIONS);
    const { pod } = await scenarioOn(fixture);
    const receipt = await pod.handle({ type: 'ask', tool: 'x', arguments: '{}', title: 't' }, KEYED);
    expect(await pod.handle({ title: 't', arguments: '{}', tool: 'x', type: 'ask' }, KEYED)).toEqual(receipt);
  });

  it('give repeated commands one effect in any order, also with a kill in between', async () => {
    const fixture = await hostFixture(scriptedModel, OPTIONS);
    const commands: readonly PodCommand[] = [
      { ...promptCommand('hello'), whenBusy: 'queue' },
      { type: 'steer', content: text('a') },
      { type: 'follow-up', content: text('b') },
      { type: 'ask', tool: 'x', arguments: '{}' },
      { type: 'configure', set: { name: 'n' } },
      { type: 'configure', set: { thinking: 'low' } },
      { type: 'set-todos', items: [{ content: 'a', status: 'pending' }] },
      { type: 'shell', command: 'true' },
    ];
    const sending = fc.record({ command: fc.nat(commands.length - 1), pause: fc.nat(4) });
    await fc.assert(
      fc.asyncProperty(
        fc.array(sending, { minLength: 8, maxLength: 30 }),
        fc.array(sending, { maxLength: 20 }),
        async (first, second) => {
          const pod = await fixture.host.create({ cwd: fixture.cwd });
          const given = new Map<number, Receipt>();
          const send = async (to: Pod, list: typeof first): Promise<void> => {
            const sent: Promise<void>[] = [];
            for (const { command: at, pause } of list) {
              const command = commands[at];
              if (command === undefined) continue;
              sent.push(
                to.handle(command, { ...ADA, key: `key ${at}` }).then((receipt) => {
                  expect(receipt).toEqual(given.get(at) ?? receipt);
                  given.set(at, receipt);
                }),
              );
              await turns(pause);
            }
            await Promise.all(sent);
          };
          await send(pod, first);
          const host = await fixture.reopen({ directory: killedCopy(fixture.directory) });
          const again = host.pod(pod.id);
          await send(again, second);
          const log = await logOf(again, (await again.snapshot()).seq);
          const ids = (type: 'queued' | 'approval-request' | 'shell-start' | 'todos') =>
            log.filter((event) => event.type === type).length;
          const sentOnes = (...ats: readonly number[]) => ats.filter((at) => given.has(at)).length;
          expect(ids('approval-request')).toBe(sentOnes(3));
          expect(ids('todos')).toBe(sentOnes(6));
          expect(ids('shell-start')).toBe(sentOnes(7));
          const prompted = log.filter((event) => event.type === 'input' && event.origin === 'prompt').length;
          const waiting = log.filter((event) => event.type === 'queued' && event.lane === 'prompt').length;
          expect(Math.max(prompted, waiting)).toBeLessThanOrEqual(sentOnes(0));
          expect(ids('queued') - waiting).toBe(sentOnes(1, 2));
          await host.shutdown();
        },
      ),
      { numRuns: 15 },
    );
  });

  it('run a real shell command once', async () => {
    const fixture = await hostFixture(scriptedModel, OPTIONS);
    const { pod, listener } = await scenarioOn(fixture);
    const command: PodCommand = { type: 'shell', command: 'echo ran >> ran' };
    await Promise.all([pod.handle(command, KEYED), pod.handle(command, KEYED)]);
    await listener.waitForType('shell-end');
    const host = await fixture.reopen({ directory: killedCopy(fixture.directory) });
    await host.pod(pod.id).handle(command, KEYED);
    expect(readFileSync(join(fixture.cwd, 'ran'), 'utf8')).toBe('ran\n');
  });

  it('create one pod per key, also concurrently and after a restart', async () => {
    const { host, cwd, reopen } = await hostFixture([]);
    const made = await Promise.all([1, 2, 3].map(() => host.create({ cwd, key: 'mine' })));
    const ids = new Set(made.map(({ id }) => id));
    expect(ids.size).toBe(1);
    await host.shutdown();
    const next = await reopen();
    expect((await next.create({ cwd, key: 'mine' })).id).toBe(made[0]?.id);
    const lazy = await Promise.all([1, 2].map(() => next.create({ cwd, key: 'later', lazy: true })));
    expect(lazy[0]?.id).toBe(lazy[1]?.id);
    expect((await next.create({ cwd, key: 'later', lazy: true })).id).toBe(lazy[0]?.id);
  });

  it('also apply to a decision in the parent', async () => {
    const fixture = await hostFixture(scriptedModel, OPTIONS);
    const parent = await fixture.host.create({ cwd: fixture.cwd });
    const child = await fixture.host.spawn(parent.id, { cwd: fixture.cwd });
    const above = new Listener(parent, 0);
    await child.handle(promptCommand('call record_call'));
    const { approvalId } = (await above.waitForType('approval-request')).approval;
    const command: PodCommand = { type: 'decide', approvalId, decision: 'approve' };
    const receipt = await parent.handle(command, KEYED);
    expect(await parent.handle(command, KEYED)).toEqual(receipt);
    await above.waitForType('approval-response');
    expect(await parent.handle(command, KEYED)).toEqual(receipt);
    await expect(parent.handle(command, ADA)).rejects.toBeInstanceOf(PolypodError);
    await fixture.host.shutdown();
    const next = await fixture.reopen();
    expect(await next.pod(parent.id).handle(command, KEYED)).toEqual(receipt);
    expect(await effects(next.pod(child.id), is('approval-response'))).toBe(1);
    expect(await effects(next.pod(parent.id), is('approval-response'))).toBe(1);
  });
});
