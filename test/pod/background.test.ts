import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Host, Pod, PodEventOf } from '../../src/pod/index.ts';
import { survivorsOf, token } from '../tools/survivors.ts';
import { ADA, BOB, type HostFixture, hostFixture, Listener, promptCommand } from './fixture.ts';
import { killedCopy, recordingTool, scriptedModel, sumOf } from './resume/resume-fixture.ts';
import { logOf } from './resume/resume-watchers.ts';

interface Started {
  readonly fixture: HostFixture;
  readonly pod: Pod;
  readonly listener: Listener;
  readonly mark: string;
  readonly id: string;
}

const call = (command: string): string => `call bash ${JSON.stringify({ command, background: true })}`;

/** A pod whose agent has started a command in a run that has ended. */
async function started(
  command = (mark: string) => `sleep ${mark}`,
  options: Parameters<typeof hostFixture>[1] = {},
): Promise<Started> {
  const fixture = await hostFixture(scriptedModel, options);
  const pod = await fixture.host.create({ cwd: fixture.cwd, settings: { mode: 'full-access' } });
  const listener = new Listener(pod, 0);
  const mark = token();
  await pod.handle(promptCommand(call(command(mark))), ADA);
  const { id } = await listener.waitForType('background-start');
  await listener.waitForType('run-end');
  return { fixture, pod, listener, mark, id };
}

/** A command that runs until `go` is called. */
const gated = (then: string) => (): string => `until test -e go; do sleep 0.05; done; ${then}`;
const go = ({ cwd }: HostFixture): void => writeFileSync(join(cwd, 'go'), '');

/** Sends a prompt and returns the texts of the request that followed. */
async function requestAfter({ sim }: HostFixture, pod: Pod, text: string): Promise<string> {
  const { seq } = await pod.snapshot();
  const before = sim.requests.length;
  const listener = new Listener(pod, seq);
  await pod.handle(promptCommand(text), ADA);
  await listener.waitForType('run-end');
  return JSON.stringify(sim.requests[before]?.body);
}

/** How many notices about background commands a request has. */
const noticesIn = (request: string): number => request.split('"text":"[background command').length - 1;

const ended = (listener: Listener): Promise<PodEventOf<'background-end'>> =>
  listener.waitForType('background-end');

describe('a background command of a pod', () => {
  it('runs on after its run, and after a later run is cancelled', async () => {
    const { pod, listener, mark, id } = await started();
    expect(survivorsOf(mark)).not.toEqual([]);
    expect((await pod.snapshot()).background).toMatchObject([{ id, command: `sleep ${mark}` }]);
    await pod.handle(promptCommand('go\n[[sim deltas=20 fault=stall after=3]]'), ADA);
    await listener.waitForType('block-delta');
    await pod.handle({ type: 'cancel' }, ADA);
    await listener.waitFor((event) => event.type === 'run-end' && event.outcome.status === 'cancelled');
    expect(survivorsOf(mark)).not.toEqual([]);
    expect(listener.types).not.toContain('background-end');
  });

  it('a person ends it: the event says so, and no run starts', async () => {
    const { pod, listener, mark, id } = await started();
    await expect(pod.handle({ type: 'end-background', id: 'b0' }, BOB)).rejects.toMatchObject({
      code: 'not-found',
      message: 'no background command b0 is running',
    });
    await pod.handle({ type: 'end-background', id }, BOB);
    expect(await ended(listener)).toMatchObject({
      id,
      status: 'ended',
      message: expect.stringMatching(/^ended by the user after /) as string,
    });
    expect(survivorsOf(mark)).toEqual([]);
    expect(await pod.snapshot()).not.toHaveProperty('background');
    expect((await pod.snapshot()).state).toBe('idle');
    expect(listener.events.filter(({ type }) => type === 'run-start')).toHaveLength(1);
    await expect(pod.handle({ type: 'end-background' }, BOB)).rejects.toMatchObject({ code: 'not-found' });
  });

  it('that ends while the agent is idle is reported with the next prompt, once', async () => {
    const { fixture, pod, listener, id } = await started(gated('exit 7'));
    go(fixture);
    await ended(listener);
    const next = await requestAfter(fixture, pod, 'hello');
    expect(next).toContain(`[background command ${id} (${gated('exit 7')()}): exit code 7 after `);
    expect(next).toContain('bash_output reads its output');
    const notice = await listener.waitFor((event) => event.type === 'input' && event.origin === 'notice');
    expect(notice).toMatchObject({ customType: 'background-notice' });
    const later = await requestAfter(fixture, pod, 'hello again');
    expect(noticesIn(later)).toBe(1);
  });

  it('whose end was reported leaves no message of a person in the snapshot, also after a restart', async () => {
    const { fixture, pod, listener } = await started(gated('true'));
    go(fixture);
    await ended(listener);
    await requestAfter(fixture, pod, 'hello');
    const automatic = async (from: Pod): Promise<readonly boolean[]> =>
      (await from.snapshot()).items.flatMap((item) =>
        item.type === 'message' && item.role === 'user' ? [item.automatic === true] : [],
      );
    expect(await automatic(pod)).toEqual([false, false, true]);
    await fixture.host.shutdown();
    const host = await fixture.reopen();
    expect(await automatic(host.pod(pod.id))).toEqual([false, false, true]);
  });

  it('that ends during a run is reported with the next request of the run', async () => {
    let listener: Listener | undefined;
    const waiting = recordingTool(async () => {
      go(fixture);
      if (listener !== undefined) await ended(listener);
    });
    const fixture = await hostFixture(scriptedModel, { tools: [waiting] });
    const pod = await fixture.host.create({ cwd: fixture.cwd, settings: { mode: 'full-access' } });
    listener = new Listener(pod, 0);
    await pod.handle(promptCommand(`${call(gated('true')())}\ncall record_call`), ADA);
    await listener.waitForType('run-end');
    const request = JSON.stringify(fixture.sim.requests.at(-1)?.body);
    expect(noticesIn(request)).toBe(1);
    expect(request).toContain('true): done in');
  });

  it('whose end the model has read is not reported again', async () => {
    let reached = async (): Promise<void> => {};
    const tools = [recordingTool(() => reached())];
    const { fixture, pod, listener, id } = await started(gated('echo over'), { tools });
    reached = async () => {
      go(fixture);
      await ended(listener);
    };
    const reader = new Listener(pod, (await pod.snapshot()).seq);
    await pod.handle(promptCommand(`call record_call\ncall bash_output {"id":"${id}"}`), ADA);
    await reader.waitForType('run-end');
    const request = JSON.stringify(fixture.sim.requests.at(-1)?.body);
    expect(request).toContain(`over\\n[${id}: done in`);
    expect(noticesIn(request)).toBe(0);
  });

  it('keeps its pod in memory, which is unloaded after the end', async () => {
    const moves: string[] = [];
    const { fixture, pod, listener, id } = await started(undefined, { hibernateAfterMs: 50 });
    fixture.host.onPods((podId, move) => void moves.push(`${podId} ${move}`));
    await listener.stop();
    const other = await fixture.host.create({ cwd: fixture.cwd });
    await other.handle({ type: 'configure', set: { name: 'idle' } }, ADA);
    // The other pod is idle for as long as this one, and is unloaded.
    await expect.poll(() => moves).toContain(`${other.id} out`);
    expect(moves).not.toContain(`${pod.id} out`);
    await pod.handle({ type: 'end-background', id }, ADA);
    await expect.poll(() => moves).toContain(`${pod.id} out`);
  });

  it('is part of snapshots, which are the sum of the events', async () => {
    const { pod } = await started();
    const snapshot = await pod.snapshot();
    expect(sumOf(await logOf(pod, snapshot.seq), snapshot)).toEqual(snapshot);
  });
});

describe('background commands end with their pod', () => {
  it.each([
    ['closes', async (_: Host, pod: Pod) => void (await pod.handle({ type: 'close' }, ADA))],
    ['is shut down', (host: Host) => host.shutdown()],
  ])('when it %s, and the model is informed later', async (_, end) => {
    const { fixture, pod, mark, id } = await started((number) => `setsid sleep ${number} & sleep ${number}`);
    await end(fixture.host, pod);
    expect(survivorsOf(mark)).toEqual([]);
    await fixture.host.shutdown();
    const host = await fixture.reopen();
    const next = await requestAfter(fixture, host.pod(pod.id), 'hello');
    expect(next).toMatch(
      new RegExp(
        `background command ${id} \\(.*\\): ended because the session was closed after [\\d.]+ s\\]`,
      ),
    );
    expect(noticesIn(await requestAfter(fixture, host.pod(pod.id), 'more'))).toBe(1);
  });

  it('when its process is killed, which is reported as interrupted', async () => {
    const { fixture, pod, id } = await started();
    const host = await fixture.reopen({ directory: killedCopy(fixture.directory) });
    const copy = host.pod(pod.id);
    const listener = new Listener(copy, 0);
    expect(await ended(listener)).toMatchObject({ id, status: 'interrupted' });
    expect(await copy.snapshot()).not.toHaveProperty('background');
    expect(await requestAfter(fixture, copy, 'hello')).toContain(`background command ${id} (`);
  });

  it('also if a compaction came between, and a fork knows nothing of them', async () => {
    const { fixture, pod, listener, id } = await started();
    const fork = await fixture.host.fork(pod.id);
    expect(await fork.snapshot()).not.toHaveProperty('background');
    await pod.handle({ type: 'compact', mayGrow: true }, ADA);
    await listener.waitForType('compaction-end');
    const host = await fixture.reopen({ directory: killedCopy(fixture.directory) });
    expect(await requestAfter(fixture, host.pod(pod.id), 'hello')).toContain(`background command ${id} (`);
    expect(noticesIn(await requestAfter(fixture, fork, 'hello'))).toBe(0);
  });
});

describe('permissions of background commands', () => {
  it('are those of the same command in the foreground', async () => {
    const fixture = await hostFixture(scriptedModel);
    const modes = ['read-only', 'workspace-write'] as const;
    const commands = ['touch x', 'cat /etc/hostname', 'ls', 'curl example.org'];
    for (const mode of modes)
      for (const command of commands) {
        const outcomes: string[] = [];
        for (const background of [false, true]) {
          const pod = await fixture.host.create({ cwd: fixture.cwd, settings: { mode } });
          const listener = new Listener(pod, 0);
          await pod.handle(promptCommand(`call bash ${JSON.stringify({ command, background })}`), ADA);
          const event = await listener.waitFor(
            ({ type }) => type === 'approval-request' || type === 'tool-end',
          );
          outcomes.push(event.type === 'tool-end' ? event.status : event.type);
          await pod.handle({ type: 'close' }, ADA);
        }
        expect([mode, command, outcomes[1]]).toEqual([mode, command, outcomes[0]]);
      }
  });

  it('an approval says that it runs in the background, and starts it only after the decision', async () => {
    const fixture = await hostFixture(scriptedModel);
    const pod = await fixture.host.create({ cwd: fixture.cwd });
    const listener = new Listener(pod, 0);
    const mark = token();
    await pod.handle(promptCommand(call(`touch x; sleep ${mark}`)), ADA);
    const { approval } = await listener.waitForType('approval-request');
    expect(approval.title).toBe(`touch x; sleep ${mark} (background)`);
    expect(survivorsOf(mark)).toEqual([]);
    await pod.handle({ type: 'decide', approvalId: approval.approvalId, decision: 'approve' }, BOB);
    await listener.waitForType('background-start');
    expect(survivorsOf(mark)).not.toEqual([]);
  });

  it('a rule can deny the tools that read and end them', async () => {
    const rules = [{ tool: 'bash_kill', action: 'deny' }] as const;
    const { pod, listener, id, mark } = await started();
    await pod.handle({ type: 'configure', set: { rules } }, ADA);
    await pod.handle(promptCommand(`call bash_kill {"id":"${id}"}`), ADA);
    await listener.waitFor((event) => event.type === 'tool-end' && event.status === 'denied');
    expect(survivorsOf(mark)).not.toEqual([]);
  });
});
