import { describe, expect, it } from 'vitest';
import { counted, NO_COUNTS, countEvents } from '../../src/daemon/observe/event-counts.ts';
import { ADA, Listener, promptCommand, hostFixture } from '../pod/fixture.ts';

const bash = { parts: [{ toolCall: { name: 'bash', arguments: { command: 'touch made' } } }] };

describe('the counts of a daemon', () => {
  it('count the events of its pods', async () => {
    const { host, cwd } = await hostFixture([
      bash,
      { parts: [{ text: 'No.' }] },
      { parts: [{ text: 'Again.' }] },
    ]);
    const counts = countEvents(host);
    expect(counts()).toEqual(NO_COUNTS);
    const pod = await host.create({ cwd });
    const listener = new Listener(pod);
    await pod.handle(promptCommand('Make a file'), ADA);
    const { approval } = await listener.waitForType('approval-request');
    expect(counts()).toMatchObject({ runsStarted: 1, runsEnded: {}, approvalsAsked: 1, approvalsSettled: 0 });
    await pod.handle({ type: 'decide', approvalId: approval.approvalId, decision: 'deny' }, ADA);
    await listener.waitFor((event) => event.type === 'state' && event.state === 'idle' && event.seq > 10);
    const first = counts();
    expect(first).toMatchObject({
      runsStarted: 1,
      runsEnded: { finished: 1 },
      totals: { turns: 2, toolCalls: 1 },
      approvalsAsked: 1,
      approvalsSettled: 1,
      events: listener.lastSeq,
    });
    expect(first.totals.inputTokens).toBeGreaterThan(0);
    await pod.handle(promptCommand('Again'), ADA);
    await listener.waitFor((event) => event.type === 'run-end' && event.seq > first.events);
    expect(counts()).toMatchObject({ runsStarted: 2, runsEnded: { finished: 2 }, totals: { turns: 3 } });
  });

  it('never decrease, even if a session shrinks or is removed', () => {
    const totals = { ...NO_COUNTS.totals, turns: 4, cost: 0.5 };
    const before = { totals, approvals: [] };
    const counts = counted(NO_COUNTS, undefined, before);
    expect(counts).toMatchObject({ totals: { turns: 4, cost: 0.5 } });
    expect(counted(counts, before, { totals: { ...totals, turns: 1, cost: 0.1 }, approvals: [] })).toEqual(
      counts,
    );
  });
});
