import { describe, expect, it } from 'vitest';
import type { Pod, PodCommand } from '../../src/pod/index.ts';
import { readCommand } from '../../src/pod/index.ts';
import { scriptedModel, recordingTool } from './resume/resume-fixture.ts';
import { ADA, Listener, promptCommand, hostFixture } from './fixture.ts';

const text = (words: string) => [{ type: 'text' as const, text: words }];
const STALLED = promptCommand('go\n[[sim deltas=20 fault=stall after=3]]');

type Scenario = (pod: Pod, listener: Listener) => Promise<unknown>;

const idle: Scenario = async () => {};
const running: Scenario = (pod) => pod.handle(STALLED);
const waiting: Scenario = async (pod, listener) => {
  await pod.handle(promptCommand('call record_call'));
  await listener.waitForType('approval-request');
};
const paused: Scenario = async (pod, listener) => {
  await waiting(pod, listener);
  const { approval } = await listener.waitForType('approval-request');
  await pod.handle({ type: 'pause' });
  await pod.handle({ type: 'decide', approvalId: approval.approvalId, decision: 'approve' });
  await listener.waitFor((event) => event.type === 'state' && event.state === 'paused');
};

const UNDER_WAY = 'a run is under way: steer it, queue a follow-up, or cancel it first';
const WAITING = /^a run is waiting for approval .*: decide, or cancel it first$/;

/** Which command is rejected in which state, with its code and message. */
const WRONG_STATE: readonly (readonly [string, Scenario, PodCommand, string, string | RegExp])[] = [
  ['prompt while a run is under way', running, promptCommand('x'), 'conflict', UNDER_WAY],
  ['prompt while a run waits', waiting, promptCommand('x'), 'conflict', WAITING],
  ['compact while a run is under way', running, { type: 'compact' }, 'conflict', UNDER_WAY],
  ['compact while a run waits', waiting, { type: 'compact' }, 'conflict', WAITING],
  [
    'compact while a run is paused',
    paused,
    { type: 'compact' },
    'conflict',
    'the run is paused: resume or cancel it before compacting',
  ],
  ['cancel without a run', idle, { type: 'cancel' }, 'conflict', 'there is no run to cancel'],
  ['pause without a run', idle, { type: 'pause' }, 'conflict', 'there is no run to pause'],
  ['pause of a paused run', paused, { type: 'pause' }, 'conflict', 'there is no run to pause'],
  ['resume without a run', idle, { type: 'resume' }, 'conflict', 'nothing is paused'],
  ['resume of what runs', running, { type: 'resume' }, 'conflict', 'nothing is paused'],
  ['resume of what waits', waiting, { type: 'resume' }, 'conflict', /^waiting for approval .*: send decide$/],
  ['abort-retry without one', running, { type: 'abort-retry' }, 'conflict', 'no retry is pending'],
  [
    'branch while a run is under way',
    running,
    { type: 'branch', entryId: 'root' },
    'conflict',
    'a run is active: cancel it before branching',
  ],
  [
    'branch while a run waits',
    waiting,
    { type: 'branch', entryId: 'root' },
    'conflict',
    'a run is active: cancel it before branching',
  ],
  ['branch to nowhere', idle, { type: 'branch', entryId: 'none' }, 'not-found', /there is no entry none/],
  [
    'clear-queue of what does not wait',
    idle,
    { type: 'clear-queue', queueIds: ['none'] },
    'not-found',
    'there is no queued message none: it may have been delivered',
  ],
  [
    'decide about nothing',
    waiting,
    { type: 'decide', approvalId: 'none', decision: 'approve' },
    'not-found',
    'there is no approval none: it may have been settled long ago',
  ],
  ['abort-shell without one', idle, { type: 'abort-shell' }, 'conflict', 'no shell command is running'],
  [
    'tool-result for nothing',
    running,
    { type: 'tool-result', callId: 'none', content: text('x') },
    'not-found',
    'no call none waits for a result: it may have been cancelled',
  ],
  [
    'tool-update for nothing',
    idle,
    { type: 'tool-update', callId: 'none', text: 'x' },
    'not-found',
    'no call none waits for a result: it may have been cancelled',
  ],
];

describe('a command in the wrong state', () => {
  it.each(WRONG_STATE)(
    '%s is rejected, changes nothing, and reports what to do',
    async (_, set, command, code, message) => {
      const { host, cwd } = await hostFixture(scriptedModel, { tools: [recordingTool(() => {})] });
      const pod = await host.create({ cwd });
      const listener = new Listener(pod, 0);
      await set(pod, listener);
      const { seq: __, blocks: ___, ...before } = await pod.snapshot();
      const refused = pod.handle(command, ADA);
      await expect(refused).rejects.toMatchObject({ name: 'PolypodError', code });
      await expect(refused).rejects.toThrow(message);
      const { seq: ____, blocks: _____, ...after } = await pod.snapshot();
      expect(after).toEqual(before);
    },
  );

  it('rejects an unavailable model before it is selected', async () => {
    const { host, cwd } = await hostFixture(scriptedModel, {
      agent: {
        model: async () => {
          throw new Error('no key for it');
        },
      },
    });
    const pod = await host.create({ cwd });
    const { settings } = await pod.snapshot();
    const set = { model: { provider: 'other', modelId: 'x' } };
    await expect(pod.handle({ type: 'configure', set })).rejects.toThrow('no key for it');
    await expect(pod.handle(promptCommand('hello'))).rejects.toThrow('no key for it');
    expect(await pod.snapshot()).toMatchObject({ settings, state: 'idle', items: [] });
  });

  it('names a pod that does not exist', async () => {
    const { host, cwd } = await hostFixture([]);
    expect(() => host.pod('none')).toThrow('there is no pod none: list the sessions to see which there are');
    await expect(host.fork('none')).rejects.toThrow('there is no pod none');
    await expect(host.spawn('none', { cwd })).rejects.toThrow('there is no pod none');
    await expect(host.delete('none')).rejects.toThrow('there is no pod none');
    const pod = await host.create({ cwd });
    await expect(host.fork(pod.id, { entryId: 'none' })).rejects.toThrow('there is no entry none');
    await host.delete(pod.id);
    await expect(pod.snapshot()).rejects.toThrow(`there is no pod ${pod.id}`);
  });
});

/** Malformed commands, and the field that the error must name. */
const MALFORMED: readonly (readonly [unknown, RegExp])[] = [
  [undefined, /the command/],
  [[], /the command/],
  [{}, /type/],
  [{ type: 'promt' }, /type/],
  [{ type: 'prompt' }, /content/],
  [{ type: 'prompt', content: [] }, /content/],
  [{ type: 'prompt', content: 'text' }, /content/],
  [{ type: 'prompt', content: [{ type: 'text' }] }, /content\.0\.text/],
  [{ type: 'prompt', content: [{ type: 'image', mediaType: 'text/plain', data: 'aa' }] }, /mediaType/],
  [{ type: 'prompt', content: [{ type: 'image', mediaType: 'image/png', data: '%' }] }, /data/],
  [{ type: 'prompt', content: text('x'), whenBusy: 'later' }, /whenBusy/],
  [{ type: 'prompt', content: text('x'), overrides: { maxTurns: 0 } }, /overrides\.maxTurns/],
  [{ type: 'prompt', content: text('x'), overrides: { budget: -1 } }, /overrides\.budget/],
  [
    { type: 'prompt', content: text('x'), overrides: { model: { provider: 'p' } } },
    /overrides\.model\.modelId/,
  ],
  [{ type: 'prompt', content: text('x'), extra: 1 }, /extra/],
  [{ type: 'steer' }, /content/],
  [{ type: 'follow-up', content: [{ type: 'video' }] }, /content\.0/],
  [{ type: 'clear-queue', queueIds: 'all' }, /queueIds/],
  [{ type: 'cancel', now: true }, /now/],
  [{ type: 'pause', now: true }, /now/],
  [{ type: 'resume', now: true }, /now/],
  [{ type: 'abort-retry', now: true }, /now/],
  [{ type: 'decide', decision: 'approve' }, /approvalId/],
  [{ type: 'decide', approvalId: 'a', decision: 'maybe' }, /decision/],
  [{ type: 'decide', approvalId: 'a', decision: 'approve', remember: 'never' }, /remember/],
  [{ type: 'ask', tool: 'x' }, /arguments/],
  [{ type: 'ask', tool: 'x', arguments: '{}', deadline: 'soon' }, /deadline/],
  [{ type: 'ask', tool: 'x', arguments: '{}', fallback: 'approve' }, /fallback/],
  [{ type: 'configure', set: { mode: 'yolo' } }, /set\.mode/],
  [{ type: 'configure', set: { thinking: 'very' } }, /set\.thinking/],
  [{ type: 'configure', set: { rules: [{ action: 'perhaps' }] } }, /set\.rules\.0\.action/],
  [{ type: 'configure', set: { clientTools: [{ name: 'a b' }] } }, /set\.clientTools\.0\.name/],
  [{ type: 'configure', set: { delivery: { steering: 'never' } } }, /set\.delivery\.steering/],
  [{ type: 'configure', set: { name: 'x'.repeat(201) } }, /set\.name/],
  [{ type: 'configure', clear: ['rules'] }, /clear\.0/],
  [{ type: 'compact', instructions: 1 }, /instructions/],
  [{ type: 'branch' }, /entryId/],
  [{ type: 'shell', command: '' }, /command/],
  [{ type: 'shell', command: 'ls', private: 'yes' }, /private/],
  [{ type: 'abort-shell', shellId: 1 }, /shellId/],
  [{ type: 'set-todos', items: [{ content: 'a', status: 'done' }] }, /items\.0\.status/],
  [{ type: 'tool-result', callId: 'c' }, /content/],
  [{ type: 'tool-result', callId: 'c', content: text('x'), isError: 1 }, /isError/],
  [{ type: 'tool-update', callId: 'c' }, /text/],
  [{ type: 'close', now: true }, /now/],
];

describe('a malformed command', () => {
  it.each(MALFORMED)('%j is rejected with the invalid field', (value, field) => {
    let refusal: unknown;
    try {
      readCommand(value);
    } catch (error) {
      refusal = error;
    }
    expect(refusal).toMatchObject({ code: 'bad-request' });
    expect(String(refusal)).toMatch(field);
  });

  it('is also rejected by the pod, with every invalid field', async () => {
    const { host, cwd } = await hostFixture([]);
    const pod = await host.create({ cwd });
    const { seq } = await pod.snapshot();
    const wrong: PodCommand = JSON.parse('{"type":"ask","tool":1,"arguments":2}');
    await expect(pod.handle(wrong)).rejects.toThrow(/tool.*arguments/);
    expect((await pod.snapshot()).seq).toBe(seq);
  });
});
