import { existsSync } from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { PolypodError } from '../../../src/base/index.ts';
import {
  type Approval,
  type Caller,
  type DeadlinePolicy,
  Host,
  type Pod,
  type PodEvent,
  type Receipt,
} from '../../../src/pod/index.ts';
import { type Sim, startSim } from '../../../src/sim/index.ts';
import { killedCopy, scriptedModel, turns, recordingTool } from '../resume/resume-fixture.ts';
import { logOf } from '../resume/resume-watchers.ts';
import { ADA, agentsOn, BOB, Listener, promptCommand, scratch, hostFixture } from '../fixture.ts';

const RACES = Number(process.env.POLYPOD_RACES ?? 30);

type Response = Extract<PodEvent, { type: 'approval-response' }>;

/** The calls that ran. */
class Ran {
  readonly calls: string[] = [];

  times(callId: string | undefined): number {
    return this.calls.filter((one) => one === callId).length;
  }
}

async function hostOn(sim: Sim, directory: string, ran: Ran, approvals: DeadlinePolicy): Promise<Host> {
  const tools = [recordingTool((callId) => void ran.calls.push(callId))];
  const host = await Host.open({ directory, agents: agentsOn(sim, { tools }), approvals });
  onTestFinished(() => host.shutdown().catch(() => {}));
  return host;
}

/** Decides after a delay. */
interface Decider {
  readonly after: number;
  readonly isApproved: boolean;
  /** In the parent, if there is one. */
  readonly above: boolean;
}

const decider: fc.Arbitrary<Decider> = fc.record({
  after: fc.nat(12),
  isApproved: fc.boolean(),
  above: fc.boolean(),
});

interface Attempt {
  readonly caller: Caller;
  readonly approvalId: string;
  readonly result: PromiseSettledResult<Receipt>;
}

async function decide(pod: Pod, { approvalId }: Approval, caller: Caller, { after, isApproved }: Decider) {
  await turns(after);
  const decision = isApproved ? 'approve' : 'deny';
  const [result] = await Promise.allSettled([pod.handle({ type: 'decide', approvalId, decision }, caller)]);
  return { caller, approvalId, result };
}

/** Settles the pod by denying whatever is pending. Returns true if it had to cancel a paused run. */
async function finish(pod: Pod): Promise<boolean> {
  let isCancelled = false;
  for (;;) {
    const listener = new Listener(pod);
    const { snapshot } = await listener.joined();
    const [approval] = snapshot.approvals;
    if (approval !== undefined)
      await decide(
        pod,
        approval,
        { by: 'last', door: 'test' },
        { after: 0, isApproved: false, above: false },
      );
    else if (snapshot.state === 'paused') {
      isCancelled = true;
      await pod.handle({ type: 'cancel' }, ADA).catch(() => {});
    } else if (snapshot.state !== 'idle') await listener.waitForType('state');
    await listener.stop();
    if (approval === undefined && snapshot.state === 'idle') return isCancelled;
  }
}

async function events(pod: Pod): Promise<readonly PodEvent[]> {
  return logOf(pod, (await pod.snapshot()).seq);
}

function responsesIn(log: readonly PodEvent[], approvalId: string): readonly Response[] {
  return log.flatMap((event) =>
    event.type === 'approval-response' && event.approvalId === approvalId ? [event] : [],
  );
}

function asksIn(log: readonly PodEvent[]): readonly Approval[] {
  return log.flatMap((event) => (event.type === 'approval-request' ? [event.approval] : []));
}

/** Each approval has one decision, and all clients see the same decider. */
function expectOneDecision(log: readonly PodEvent[], attempts: readonly Attempt[]): void {
  for (const { approvalId } of asksIn(log)) {
    const responses = responsesIn(log, approvalId);
    expect(responses).toHaveLength(1);
    const [{ status, by, door } = { status: 'pending' }] = responses;
    const own = attempts.filter((attempt) => attempt.approvalId === approvalId);
    expect(own.filter(({ result }) => result.status === 'fulfilled').length).toBeLessThanOrEqual(1);
    for (const { caller, result } of own) {
      if (result.status === 'fulfilled') {
        expect(result.value).toMatchObject({ accepted: true, approvalId });
        expect({ by, door }).toEqual(caller);
        continue;
      }
      const error: unknown = result.reason;
      if (!(error instanceof PolypodError)) throw error;
      const whose = by === undefined ? '' : ` by ${by} through ${door}`;
      expect(error).toMatchObject({
        code: 'conflict',
        message: `approval ${approvalId} is already ${status}${whose}`,
      });
    }
  }
}

/** A call ran at most once, and not without approval. */
function expectConsent(log: readonly PodEvent[], ran: Ran): void {
  const approvals = asksIn(log);
  for (const callId of ran.calls) {
    const questions = approvals.filter((approval) => approval.callId === callId);
    const answers = questions.flatMap(({ approvalId }) => responsesIn(log, approvalId));
    expect(answers.map(({ status }) => status)).toContain('approved');
    expect(ran.times(callId)).toBe(1);
  }
}

const race = fc.record({
  calls: fc.constantFrom('call record_call {"a":1}', 'call record_call {"a":1}\ncall record_call {"b":2}'),
  deciders: fc.array(decider, { minLength: 1, maxLength: 6 }),
  deadlineMs: fc.option(fc.constantFrom(2, 60), { nil: undefined, freq: 2 }),
  fallback: fc.constantFrom<'deny' | 'pause'>('deny', 'pause'),
  cancelAfter: fc.option(fc.nat(12), { nil: undefined, freq: 2 }),
  killAfter: fc.option(fc.nat(14), { nil: undefined, freq: 2 }),
});

describe('an approval', () => {
  it('is decided once under concurrent decisions, cancels and kills', async () => {
    const sim = await startSim({ script: scriptedModel });
    onTestFinished(() => sim.close());
    const counts = { races: 0, decided: 0, ran: 0 };
    await fc.assert(
      fc.asyncProperty(race, async ({ calls, deciders, deadlineMs, fallback, cancelAfter, killAfter }) => {
        const policy = { fallback, ...(deadlineMs === undefined ? {} : { deadlineMs }) };
        const directory = join(scratch(), 'data');
        const before = new Ran();
        const host = await hostOn(sim, directory, before, policy);
        const pod = await host.create({ cwd: scratch() });
        const listener = new Listener(pod, 0);
        await pod.handle(promptCommand(calls));
        const { approval } = await listener.waitForType('approval-request');
        const attempts: Attempt[] = [];
        const deciding = deciders.map(async (one, at) => {
          attempts.push(await decide(pod, approval, { by: `decider ${at}`, door: `door ${at % 2}` }, one));
        });
        const cancelling = (async () => {
          if (cancelAfter === undefined) return;
          await turns(cancelAfter);
          await pod.handle({ type: 'cancel' }, ADA).catch(() => {});
        })();
        if (killAfter === undefined) {
          await Promise.all([...deciding, cancelling]);
          const isCancelled = await finish(pod);
          const log = await events(pod);
          expectOneDecision(log, attempts);
          expectConsent(log, before);
          counts.ran += before.calls.length;
          // An approved call may be cancelled before it starts; nothing else may drop it.
          if (cancelAfter === undefined && !isCancelled)
            for (const { callId, approvalId } of asksIn(log))
              expect(before.times(callId)).toBe(
                responsesIn(log, approvalId)[0]?.status === 'approved' ? 1 : 0,
              );
        } else {
          await turns(killAfter);
          // From here on the first host runs in a separate copy; its earlier effects count.
          const copy = killedCopy(directory);
          const attemptsBeforeKill = [...attempts];
          const ran = new Ran();
          ran.calls.push(...before.calls);
          const next = await hostOn(sim, copy, ran, policy);
          const again = next.pod(pod.id);
          const [later = { after: 0, isApproved: true, above: false }] = deciders;
          const tries = await Promise.all(
            ['x', 'y'].map((by) => decide(again, approval, { by, door: 'next' }, later)),
          );
          await finish(again);
          const log = await events(again);
          expectOneDecision(log, [
            ...attemptsBeforeKill.filter(({ result }) => result.status === 'fulfilled'),
            ...tries,
          ]);
          expectConsent(log, ran);
          await Promise.all([...deciding, cancelling]);
          counts.ran += ran.calls.length;
          await next.shutdown();
        }
        counts.races += 1;
        counts.decided += attempts.length;
        await host.shutdown();
      }),
      { numRuns: RACES },
    );
    console.log(`approval races: ${counts.races} races, ${counts.decided} deciders, ${counts.ran} calls run`);
  });

  it('of a child also appears in its parent and is decided once in either, also across a kill', async () => {
    const sim = await startSim({ script: scriptedModel });
    onTestFinished(() => sim.close());
    await fc.assert(
      fc.asyncProperty(
        fc.array(decider, { minLength: 1, maxLength: 5 }),
        fc.option(fc.nat(14), { nil: undefined }),
        async (deciders, killAfter) => {
          const directory = join(scratch(), 'data');
          const before = new Ran();
          const policy = { fallback: 'deny' } as const;
          const host = await hostOn(sim, directory, before, policy);
          const parent = await host.create({ cwd: scratch() });
          const child = await host.spawn(parent.id, { cwd: scratch() });
          const above = new Listener(parent, 0);
          await child.handle(promptCommand('call record_call {"a":1}'));
          const { approval } = await above.waitForType('approval-request');
          expect(approval.podId).toBe(child.id);
          const attempts: Attempt[] = [];
          const deciding = deciders.map(async (one, at) => {
            const where = one.above ? parent : child;
            attempts.push(await decide(where, approval, { by: `decider ${at}`, door: `door ${at}` }, one));
          });
          if (killAfter === undefined) {
            await Promise.all(deciding);
            await above.waitForType('approval-response');
            await finish(child);
            expectSame(await events(child), await events(parent), approval, attempts, before);
          } else {
            await turns(killAfter);
            const copy = killedCopy(directory);
            const attemptsBeforeKill = attempts.filter(({ result }) => result.status === 'fulfilled');
            const ran = new Ran();
            ran.calls.push(...before.calls);
            const next = await hostOn(sim, copy, ran, policy);
            const [parentAgain, childAgain] = [next.pod(parent.id), next.pod(child.id)];
            const watching = new Listener(parentAgain, 0);
            const tries = await Promise.all(
              [parentAgain, childAgain].map((pod, at) =>
                decide(
                  pod,
                  approval,
                  { by: `again ${at}`, door: 'next' },
                  { after: at, isApproved: true, above: true },
                ),
              ),
            );
            await watching.waitForType('approval-response');
            await finish(childAgain);
            expectSame(
              await events(childAgain),
              await events(parentAgain),
              approval,
              [...attemptsBeforeKill, ...tries],
              ran,
            );
            await Promise.all(deciding);
            await next.shutdown();
          }
          await host.shutdown();
        },
      ),
      { numRuns: RACES },
    );
  });

  function expectSame(
    child: readonly PodEvent[],
    parent: readonly PodEvent[],
    { approvalId }: Approval,
    attempts: readonly Attempt[],
    ran: Ran,
  ): void {
    expectOneDecision(child, attempts);
    expectOneDecision(parent, attempts);
    expectConsent(child, ran);
    const [[own], [shown]] = [responsesIn(child, approvalId), responsesIn(parent, approvalId)];
    expect({ status: shown?.status, by: shown?.by, door: shown?.door }).toEqual({
      status: own?.status,
      by: own?.by,
      door: own?.door,
    });
  }

  it('of a deleted child is cancelled in the parent', async () => {
    const { host, cwd, reopen } = await hostFixture(scriptedModel, { tools: [recordingTool(() => {})] });
    const parent = await host.create({ cwd });
    const child = await host.spawn(parent.id, { cwd });
    const above = new Listener(parent, 0);
    await child.handle(promptCommand('call record_call'));
    const { approval } = await above.waitForType('approval-request');
    await host.shutdown();
    const next = await reopen();
    await next.delete(child.id);
    const watching = new Listener(next.pod(parent.id), 0);
    expect(await watching.waitForType('approval-response')).toMatchObject({
      approvalId: approval.approvalId,
      status: 'cancelled',
    });
  });

  it('is cancelled with a run that another decision resumed, whenever the run is cancelled', async () => {
    const call = { toolCall: { name: 'bash', arguments: { command: 'touch made' } } };
    const { host, cwd, reopen } = await hostFixture(() => ({ parts: [call, call] }), ASK_BASH);
    let latest = host;
    for (let ticks = 0; ticks < 12; ticks += 1) {
      const created = await latest.create({ cwd });
      await created.handle(promptCommand('go'));
      await expect.poll(async () => (await created.snapshot()).approvals.length).toBe(2);
      await latest.shutdown();
      latest = await reopen();
      const pod = latest.pod(created.id);
      const [first] = (await pod.snapshot()).approvals;
      await pod.handle({ type: 'decide', approvalId: first?.approvalId ?? '', decision: 'deny' }, BOB);
      for (let tick = 0; tick < ticks; tick += 1) await new Promise((resolve) => setImmediate(resolve));
      await pod.handle({ type: 'cancel' }, BOB);
      await expect.poll(async () => (await pod.snapshot()).state).toBe('idle');
      expect((await pod.snapshot()).approvals).toEqual([]);
    }
  });

  it('survives a shutdown of the host, and the run resumes after the decision', async () => {
    const ran = new Ran();
    const { host, cwd, reopen } = await hostFixture(scriptedModel, {
      tools: [recordingTool((callId) => void ran.calls.push(callId))],
    });
    const pod = await host.create({ cwd });
    const listener = new Listener(pod, 0);
    await pod.handle(promptCommand('call record_call'));
    const { approval } = await listener.waitForType('approval-request');
    await host.shutdown();
    const again = (await reopen()).pod(pod.id);
    expect((await again.snapshot()).approvals).toEqual([approval]);
    const later = new Listener(again, listener.lastSeq);
    await again.handle({ type: 'decide', approvalId: approval.approvalId, decision: 'approve' }, BOB);
    await later.waitFor((event) => event.type === 'run-end' && event.outcome.status === 'finished');
    expect(later.snapshots).toEqual([]);
    expect(ran.times(approval.callId)).toBe(1);
  });

  const ASK_BASH = {
    agent: {
      rules: [
        { tool: 'bash', command: 'rm', action: 'deny' as const },
        { tool: 'bash', action: 'ask' as const },
      ],
    },
  };

  it('with changed arguments is checked again, and stays pending if they are forbidden', async () => {
    const { host, cwd } = await hostFixture(scriptedModel, ASK_BASH);
    const pod = await host.create({ cwd });
    const listener = new Listener(pod, 0);
    await pod.handle(promptCommand('call bash {"command":"touch one"}'));
    const { approval } = await listener.waitForType('approval-request');
    const { approvalId } = approval;
    const change = (command: string) =>
      pod.handle(
        {
          ...{ type: 'decide', approvalId, decision: 'approve' },
          updatedArguments: JSON.stringify({ command }),
        },
        BOB,
      );
    await expect(change('rm -rf one')).rejects.toMatchObject({ code: 'denied' });
    await expect(
      pod.handle({ type: 'decide', approvalId, decision: 'approve', updatedArguments: 'no JSON' }, BOB),
    ).rejects.toMatchObject({ code: 'denied' });
    expect((await pod.snapshot()).approvals).toEqual([approval]);
    await change('touch two');
    await listener.waitForType('run-end');
    expect([existsSync(join(cwd, 'one')), existsSync(join(cwd, 'two'))]).toEqual([false, true]);
    expect(responsesIn(listener.events, approvalId)).toMatchObject([
      { status: 'approved', by: 'bob', updatedArguments: '{"command":"touch two"}' },
    ]);
  });

  it('can be denied with any changed arguments', async () => {
    const { host, cwd } = await hostFixture(scriptedModel, ASK_BASH);
    const pod = await host.create({ cwd });
    const listener = new Listener(pod, 0);
    await pod.handle(promptCommand('call bash {"command":"touch one"}'));
    const { approval } = await listener.waitForType('approval-request');
    await pod.handle({
      ...{ type: 'decide', approvalId: approval.approvalId, decision: 'deny', comment: 'not like this' },
      updatedArguments: '{"command":"rm one"}',
    });
    const { output } = await listener.waitForType('tool-end');
    expect(output.content).toMatchObject([{ text: 'program denied this call: not like this' }]);
    expect(existsSync(join(cwd, 'one'))).toBe(false);
  });

  it('never runs with forbidden arguments, also after a restart', async () => {
    const { host, cwd, reopen } = await hostFixture(scriptedModel, ASK_BASH);
    const pod = await host.create({ cwd });
    const listener = new Listener(pod, 0);
    await pod.handle(promptCommand('call bash {"command":"touch one"}'));
    const { approval } = await listener.waitForType('approval-request');
    await host.shutdown();
    const again = (await reopen()).pod(pod.id);
    const later = new Listener(again, listener.lastSeq);
    const { approvalId } = approval;
    const updatedArguments = '{"command":"rm -rf . && touch two"}';
    await again
      .handle({ type: 'decide', approvalId, decision: 'approve', updatedArguments }, BOB)
      .catch(async () => again.handle({ type: 'decide', approvalId, decision: 'deny' }, BOB));
    await later.waitForType('run-end');
    expect([existsSync(join(cwd, 'one')), existsSync(join(cwd, 'two')), existsSync(cwd)]).toEqual([
      false,
      false,
      true,
    ]);
  });

  it('that is remembered for the session applies to later calls of this pod only', async () => {
    const ran = new Ran();
    const { host, cwd, reopen } = await hostFixture(scriptedModel, {
      tools: [recordingTool((callId) => void ran.calls.push(callId))],
    });
    const pod = await host.create({ cwd });
    const listener = new Listener(pod, 0);
    await pod.handle(promptCommand('call record_call {"a":1}'));
    const { approval } = await listener.waitForType('approval-request');
    const { approvalId } = approval;
    await pod.handle({ type: 'decide', approvalId, decision: 'approve', remember: 'session' }, BOB);
    await listener.waitForType('run-end');
    await host.shutdown();
    const next = await reopen();
    const again = next.pod(pod.id);
    const later = new Listener(again, listener.lastSeq);
    await again.handle(promptCommand('call record_call {"b":2}'));
    await later.waitForType('run-end');
    expect(asksIn(later.events)).toEqual([]);
    expect(ran.calls).toHaveLength(2);
    const other = await next.create({ cwd });
    const elsewhere = new Listener(other, 0);
    await other.handle(promptCommand('call record_call {"c":3}'));
    await elsewhere.waitForType('approval-request');
    expect(ran.calls).toHaveLength(2);
  });

  it('that a client requested does not apply to a call of the model with the same id', async () => {
    const ran = new Ran();
    const { host, cwd } = await hostFixture(
      [{ parts: [{ toolCall: { id: 'guessed', name: 'record_call' } }] }],
      {
        tools: [recordingTool((callId) => void ran.calls.push(callId))],
      },
    );
    const pod = await host.create({ cwd });
    const listener = new Listener(pod, 0);
    const { approvalId = '' } = await pod.handle({
      type: 'ask',
      tool: 'record_call',
      arguments: '{}',
      callId: 'guessed',
    });
    await pod.handle({ type: 'decide', approvalId, decision: 'approve' });
    await pod.handle(promptCommand('go'));
    const { approval } = await listener
      .waitFor((event) => event.type === 'approval-request' && event.approval.approvalId !== approvalId)
      .then((event) => (event.type === 'approval-request' ? event : Promise.reject(new Error('no request'))));
    expect(approval.callId).toBe('guessed');
    expect(ran.calls).toEqual([]);
  });

  it('that is pending lets a prompt be queued, before and after a restart', async () => {
    const { host, cwd, reopen } = await hostFixture(scriptedModel, { tools: [recordingTool(() => {})] });
    const pod = await host.create({ cwd });
    const listener = new Listener(pod, 0);
    await pod.handle(promptCommand('call record_call'));
    const { approvalId } = (await listener.waitForType('approval-request')).approval;
    const first = await pod.handle({ ...promptCommand('one'), whenBusy: 'queue' });
    await host.shutdown();
    const again = (await reopen()).pod(pod.id);
    const later = new Listener(again, listener.lastSeq);
    const second = await again.handle({ ...promptCommand('two'), whenBusy: 'queue' });
    await again.handle({ type: 'decide', approvalId, decision: 'deny' });
    for (const { queueId } of [first, second])
      await later.waitFor((event) => event.type === 'input' && event.queueId === queueId);
  });

  it('that expires is denied, or pauses the run, which can request it again', async () => {
    for (const fallback of ['deny', 'pause'] as const) {
      const ran = new Ran();
      const { host, cwd } = await hostFixture(scriptedModel, {
        tools: [recordingTool((callId) => void ran.calls.push(callId))],
        approvals: { deadlineMs: 5, fallback },
      });
      const pod = await host.create({ cwd });
      const listener = new Listener(pod, 0);
      await pod.handle(promptCommand('call record_call'));
      const { approvalId } = await listener.waitForType('approval-response');
      expect(responsesIn(listener.events, approvalId)).toMatchObject([{ status: 'expired' }]);
      const { outcome } = await listener.waitForType('run-end');
      expect(outcome.status).toBe(fallback === 'deny' ? 'finished' : 'paused');
      await expect(pod.handle({ type: 'decide', approvalId, decision: 'approve' })).rejects.toThrow(
        `approval ${approvalId} is already expired`,
      );
      expect(ran.calls).toEqual([]);
      if (fallback === 'deny') continue;
      await pod.handle({ type: 'resume' });
      await listener.waitFor(() => asksIn(listener.events).length === 2);
      const [first, second] = asksIn(listener.events);
      expect(second?.callId).toBe(first?.callId);
      expect(second?.approvalId).not.toBe(first?.approvalId);
    }
  });
});
