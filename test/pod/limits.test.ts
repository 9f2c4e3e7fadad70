import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { scriptedModel, turns, recordingTool } from './resume/resume-fixture.ts';
import { Listener, promptCommand, hostFixture } from './fixture.ts';

const STALLED = promptCommand('go\n[[sim deltas=20 fault=stall after=3]]');
const text = (words: string) => [{ type: 'text' as const, text: words }];

/** Every file of the sessions and feeds, with its content. */
function contents(directory: string): Readonly<Record<string, string>> {
  const names = readdirSync(directory, { recursive: true, encoding: 'utf8' });
  const files = names.filter((name) => !name.includes('.lock') && statSync(join(directory, name)).isFile());
  return Object.fromEntries(files.map((name) => [name, readFileSync(join(directory, name), 'utf8')]));
}

describe('a host', () => {
  it('unloads the least recently used idle pod when another one is needed', async () => {
    const { host, cwd } = await hostFixture(scriptedModel, { limits: { pods: 2 } });
    const pods = [await host.create({ cwd }), await host.create({ cwd }), await host.create({ cwd })];
    const snapshots = await Promise.all(pods.map((pod) => pod.snapshot()));
    while (host.usage.pods > 2) await turns(1);
    for (const [at, pod] of pods.entries()) {
      expect(await pod.snapshot()).toEqual(snapshots[at]);
      expect(host.usage.pods).toBeLessThanOrEqual(3);
    }
    expect(host.usage.sessions).toBe(3);
  });

  it('rejects another pod while all are in use, and loads it once one is idle', async () => {
    const { host, cwd } = await hostFixture(scriptedModel, { limits: { pods: 2 } });
    const [first, second, third] = [
      await host.create({ cwd }),
      await host.create({ cwd }),
      await host.create({ cwd, lazy: true }),
    ];
    const watcher = new Listener(first);
    await watcher.joined();
    const running = new Listener(second, 0);
    await second.handle(STALLED);
    await running.stop();
    const refusal = {
      code: 'overloaded',
      message: '2 pods are in use, which is the limit: close one, or raise the limit',
    };
    await expect(third.snapshot()).rejects.toMatchObject(refusal);
    await expect(third.watch().next()).rejects.toMatchObject(refusal);
    await expect(third.handle(promptCommand('hello'))).rejects.toMatchObject(refusal);
    await watcher.stop();
    expect(await third.handle(promptCommand('hello'))).toMatchObject({ accepted: true });
  });

  it('loads a pod while another one is being unloaded', async () => {
    const { host, cwd } = await hostFixture(scriptedModel, { limits: { pods: 1 } });
    const pods = [await host.create({ cwd }), await host.create({ cwd }), await host.create({ cwd })];
    for (let round = 0; round < 5; round += 1)
      for (const pod of pods) expect((await pod.snapshot()).id).toBe(pod.id);
  });

  it('rejects a run above the limit, and starts a queued one when a slot is free', async () => {
    const { host, cwd } = await hostFixture(scriptedModel, { limits: { runs: 1 } });
    const [first, second] = [await host.create({ cwd }), await host.create({ cwd })];
    await first.handle(STALLED);
    expect(host.usage.runs).toBe(1);
    await expect(second.handle(promptCommand('hello'))).rejects.toMatchObject({
      code: 'overloaded',
      message: 'the maximum number of runs is active: wait until one ends, or queue it',
    });
    const { queueId } = await second.handle({ ...promptCommand('hello'), whenBusy: 'queue' });
    const listener = new Listener(second, 0);
    expect((await second.snapshot()).queue).toMatchObject([{ queueId }]);
    await first.handle({ type: 'cancel' });
    expect(await listener.waitForType('input')).toMatchObject({ queueId });
    expect((await listener.waitForType('run-end')).outcome.status).toBe('finished');
    await listener.waitFor((event) => event.type === 'state' && event.state === 'idle');
    expect(host.usage.runs).toBe(0);
  });

  it('rejects a message when the queue is full', async () => {
    const { host, cwd } = await hostFixture(scriptedModel, { limits: { queue: 2 } });
    const pod = await host.create({ cwd });
    await pod.handle(STALLED);
    await pod.handle({ type: 'steer', content: text('one') });
    await pod.handle({ ...promptCommand('two'), whenBusy: 'queue' });
    const refusal = {
      code: 'overloaded',
      message:
        '2 messages are already queued, which is the limit: wait until some are delivered, or clear the queue',
    };
    await expect(pod.handle({ type: 'follow-up', content: text('three') })).rejects.toMatchObject(refusal);
    await expect(pod.handle({ ...promptCommand('three'), whenBusy: 'queue' })).rejects.toMatchObject(refusal);
    await pod.handle({ type: 'clear-queue' });
    await pod.handle({ type: 'follow-up', content: text('three') });
  });

  it('opens no pod after shutdown', async () => {
    const { host, cwd } = await hostFixture(scriptedModel);
    const pod = await host.create({ cwd });
    await host.shutdown();
    const refusal = { code: 'conflict', message: 'the host is shut down: open it again' };
    await expect(pod.snapshot()).rejects.toMatchObject(refusal);
    await expect(pod.watch().next()).rejects.toMatchObject(refusal);
    expect(host.usage.pods).toBe(0);
  });
});

describe('a queued prompt', () => {
  it('starts when the paused run before it is cancelled, also after a restart', async () => {
    for (const isReopened of [false, true]) {
      const { host, cwd, reopen } = await hostFixture(scriptedModel, { tools: [recordingTool(() => {})] });
      const pod = await host.create({ cwd });
      const listener = new Listener(pod, 0);
      await pod.handle(promptCommand('call record_call'));
      const { approvalId } = (await listener.waitForType('approval-request')).approval;
      const { queueId } = await pod.handle({ ...promptCommand('later'), whenBusy: 'queue' });
      let again = pod;
      if (isReopened) {
        await host.shutdown();
        again = (await reopen()).pod(pod.id);
      } else {
        await pod.handle({ type: 'pause' });
        await pod.handle({ type: 'decide', approvalId, decision: 'approve' });
        await listener.waitFor((event) => event.type === 'state' && event.state === 'paused');
      }
      const later = new Listener(again, listener.lastSeq);
      await again.handle({ type: 'cancel' });
      await later.waitFor((event) => event.type === 'input' && event.queueId === queueId);
    }
  });
});

describe('a closed pod', () => {
  it('keeps queued prompts, and runs them when it is opened again', async () => {
    const { host, cwd } = await hostFixture(({ messages }) => ({
      parts: [{ text: 'and so on '.repeat(10) }],
      ...(messages.at(-1)?.text.endsWith('hang') ? { fault: { kind: 'stall', after: 2 } } : {}),
    }));
    const pod = await host.create({ cwd });
    await pod.handle(promptCommand('hang'));
    const { queueId } = await pod.handle({ ...promptCommand('later'), whenBusy: 'queue' });
    await pod.handle({ type: 'close' });
    expect(host.usage).toMatchObject({ pods: 0, runs: 0 });
    const listener = new Listener(pod, 0);
    await listener.waitFor((event) => event.type === 'run-end' && event.outcome.status === 'finished');
    const inputs = listener.events.filter((event) => event.type === 'input' && event.queueId === queueId);
    expect(inputs).toHaveLength(1);
    expect(listener.types.filter((type) => type === 'run-end')).toHaveLength(2);
  });

  it('performs commands accepted before the close, rejects later ones, and leaves no run', async () => {
    const { host, cwd } = await hostFixture(scriptedModel);
    for (let pause = 0; pause < 25; pause += 1) {
      const pod = await host.create({ cwd });
      const prompting = pod.handle(promptCommand('hello'));
      const outcome = prompting.then(
        ({ runId }) => runId,
        () => 'refused',
      );
      for (let at = 0; at < pause; at += 1) await (pause % 2 === 0 ? turns(1) : Promise.resolve());
      await pod.handle({ type: 'close' });
      const listener = new Listener(pod, 0);
      await listener.waitForType('closed');
      const startedRuns = listener.events.flatMap((event) =>
        event.type === 'run-start' ? [event.runId] : [],
      );
      const runId = await outcome;
      expect(startedRuns).toEqual(runId === 'refused' ? [] : [runId]);
      const { state } = await pod.snapshot();
      if (state !== 'idle')
        await listener.waitFor((event) => event.type === 'state' && event.state === 'idle');
      await listener.stop();
    }
    while (host.usage.runs > 0) await turns(1);
  });
});

describe('an idle pod', () => {
  it('is unloaded and loaded again without a change to its files', async () => {
    const { host, cwd, directory } = await hostFixture(scriptedModel, { hibernateAfterMs: 0 });
    const pod = await host.create({ cwd, settings: { name: 'sleepy' } });
    const listener = new Listener(pod, 0);
    await pod.handle(promptCommand('hello'));
    const { seq } = await listener.waitFor((event) => event.type === 'state' && event.state === 'idle');
    const before = await pod.snapshot();
    await listener.stop();
    const asleep = async (): Promise<void> => {
      while (host.usage.pods > 0) await turns(1);
    };
    await asleep();
    const files = contents(directory);
    expect(await pod.snapshot()).toEqual(before);
    await asleep();
    const later = new Listener(pod, seq - 3);
    await later.waitFor((event) => event.seq === seq);
    expect(later.events).toEqual(listener.events.slice(-3));
    await later.stop();
    await asleep();
    expect(contents(directory)).toEqual(files);
    const next = await pod.handle({ type: 'set-todos', items: [] });
    expect(next.seq).toBe(seq);
    await asleep();
    expect((await pod.snapshot()).seq).toBe(seq + 1);
  });

  it('is not idle with a watcher, an active run, a pending deadline, or a prompt that waits for a slot', async () => {
    const { host, cwd } = await hostFixture(scriptedModel, {
      ...{ hibernateAfterMs: 0, limits: { runs: 1 }, tools: [recordingTool(() => {})] },
    });
    const [watched, runs, asks, waits, idle] = [
      await host.create({ cwd }),
      await host.create({ cwd }),
      await host.create({ cwd }),
      await host.create({ cwd }),
      await host.create({ cwd }),
    ];
    const watcher = new Listener(watched);
    await watcher.joined();
    await runs.handle(STALLED);
    const deadline = new Date(Date.now() + 60_000).toISOString();
    await asks.handle({ type: 'ask', tool: 'x', arguments: '{}', deadline });
    await waits.handle({ ...promptCommand('hello'), whenBusy: 'queue' });
    await idle.handle({ type: 'set-todos', items: [] });
    while (host.usage.pods > 4) await turns(1);
    // Once more, so that a wrong timer of the others would have fired too.
    await idle.snapshot();
    while (host.usage.pods > 4) await turns(1);
    expect(host.usage.pods).toBe(4);
    await watcher.stop();
    while (host.usage.pods > 3) await turns(1);
    const listener = new Listener(waits, 0);
    await runs.handle({ type: 'cancel' });
    expect((await listener.waitForType('run-end')).outcome.status).toBe('finished');
  });
});
