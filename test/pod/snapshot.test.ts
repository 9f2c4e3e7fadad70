import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Host, Pod, PodCommand, PodEvent, Snapshot } from '../../src/pod/index.ts';
import { runEndData } from '../../src/pod/journal/recorder.ts';
import { killedCopy, scriptedModel, sumOf, turns, recordingTool } from './resume/resume-fixture.ts';
import { ADA, Listener, promptCommand, hostFixture } from './fixture.ts';

/** Sends a command; a rejected one changes nothing and is ignored. */
async function attempt(pod: Pod, command: PodCommand): Promise<void> {
  await pod.handle(command, ADA).catch(() => {});
}

type Act = (pod: Pod) => Promise<void>;

const prompts = [
  'hello',
  'think deep thoughts\nhello\n[[sim deltas=60 size=3]]',
  'call record_call {"a":1}',
  'call record_call {"a":1}\ncall record_call {"b":2}',
  'call bash {"command":"echo one; echo two"}',
  'hi\n[[sim deltas=20 fault=cut after=6]]',
];

const act: fc.Arbitrary<Act> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .tuple(
        fc.constantFrom(...prompts),
        fc.constantFrom<'queue' | 'steer' | 'follow-up'>('queue', 'steer', 'follow-up'),
      )
      .map(
        ([text, whenBusy]): Act =>
          (pod) =>
            attempt(pod, { ...promptCommand(text), whenBusy }),
      ),
  },
  {
    weight: 3,
    arbitrary: fc.boolean().map(
      (isApproved): Act =>
        async (pod) => {
          const [approval] = (await pod.snapshot()).approvals;
          if (approval === undefined) return;
          const decision = isApproved ? 'approve' : 'deny';
          await attempt(pod, { type: 'decide', approvalId: approval.approvalId, decision, remember: 'once' });
        },
    ),
  },
  fc
    .constantFrom<PodCommand>(
      { type: 'cancel' },
      { type: 'pause' },
      { type: 'resume' },
      { type: 'abort-retry' },
      { type: 'compact' },
      { type: 'clear-queue' },
      { type: 'shell', command: 'echo shell' },
      { type: 'shell', command: 'echo secret', private: true },
      { type: 'set-todos', items: [{ content: 'a', status: 'pending' }] },
      { type: 'configure', set: { name: 'named', thinking: 'low' } },
      { type: 'configure', clear: ['name', 'thinking'] },
      { type: 'ask', tool: 'x', arguments: '{}' },
      { type: 'branch', entryId: 'root' },
    )
    .map(
      (command): Act =>
        (pod) =>
          attempt(pod, command),
    ),
  { weight: 4, arbitrary: fc.constant<Act>(settled) },
  fc.nat(20).map(
    (at): Act =>
      async (pod) => {
        const seen = await watched(pod);
        const ids = seen.flatMap(({ entryId }) => entryId ?? []);
        const entryId = ids[at % Math.max(ids.length, 1)];
        if (entryId !== undefined) await attempt(pod, { type: 'branch', entryId });
      },
  ),
);

/** Until the model is done, or waits for a person. */
async function settled(pod: Pod): Promise<void> {
  const listener = new Listener(pod);
  const { snapshot } = await listener.joined();
  if (snapshot.state === 'running')
    await listener.waitFor((event) => event.type === 'state' && event.state !== 'running');
  await listener.stop();
}

/** All events published so far. */
async function watched(pod: Pod): Promise<readonly PodEvent[]> {
  const { seq } = await pod.snapshot();
  const events: PodEvent[] = [];
  if (seq === 0) return events;
  for await (const step of pod.watch({ after: 0 })) {
    if (step.type === 'snapshot') throw new Error('the feed does not go back to its start');
    events.push(...step.batch.events);
    if ((events.at(-1)?.seq ?? 0) >= seq) break;
  }
  return events;
}

/** What a session file records: without turns that produced no answer, and without the name of a provider's failure. */
function persistedPart({ turn: _, lastRun, ...rest }: Snapshot) {
  return { ...rest, lastRun: lastRun && runEndData(lastRun.runId, lastRun.outcome) };
}

function expectSums(events: readonly PodEvent[], snapshots: readonly Snapshot[]): void {
  for (const snapshot of snapshots) expect(snapshot).toEqual(sumOf(events, snapshot));
}

/** Ends what is pending and running. */
async function waitUntilIdle(pod: Pod): Promise<void> {
  await attempt(pod, { type: 'clear-queue' });
  await attempt(pod, { type: 'cancel' });
  await attempt(pod, { type: 'abort-shell' });
  const listener = new Listener(pod);
  const { snapshot } = await listener.joined();
  if (snapshot.state !== 'idle')
    await listener.waitFor((event) => event.type === 'state' && event.state === 'idle');
  await listener.stop();
}

const options = { tools: [recordingTool(() => {})], hibernateAfterMs: 60_000 };

describe('a snapshot', () => {
  it('is the sum of all events up to its number at any moment, and later events complete it', async () => {
    const { host, cwd } = await hostFixture(scriptedModel, options);
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(act, fc.nat(25)), { maxLength: 14, size: 'max' }), async (steps) => {
        const pod = await host.create({ cwd, settings: { autoRetry: false } });
        const early = new Listener(pod, 0);
        const snapshots: Snapshot[] = [];
        const late: Listener[] = [];
        for (const [step, pause] of steps) {
          await step(pod);
          for (let at = 0; at < pause; at += 1) {
            await turns(1);
            if (at % 3 === 0) snapshots.push(await pod.snapshot());
          }
          late.push(new Listener(pod));
        }
        await waitUntilIdle(pod);
        const end = await pod.snapshot();
        snapshots.push(end);
        for (const listener of [early, ...late]) while (listener.lastSeq < end.seq) await turns(1);
        expectSums(early.events, snapshots);
        for (const { snapshots: joined, events } of late) {
          const [first] = joined;
          if (first === undefined) throw new Error('no snapshot came first');
          expectSums(early.events, [first.snapshot]);
          expect(events).toEqual(early.events.filter(({ seq }) => seq > first.snapshot.seq));
        }
        await Promise.all([early, ...late].map((listener) => listener.stop()));
      }),
      { numRuns: Number(process.env.POLYPOD_SNAPSHOTS ?? 15) },
    );
  });

  it('contains a streaming answer from its start', async () => {
    const parts = [{ thinking: 'about it' }, { text: 'and say '.repeat(20) }];
    const { host, cwd } = await hostFixture([
      { parts, pace: { chunkSize: 4 }, fault: { kind: 'stall', after: 12 } },
    ]);
    const pod = await host.create({ cwd });
    const early = new Listener(pod, 0);
    await pod.handle(promptCommand('go'));
    await early.waitFor(() => early.types.filter((type) => type === 'block-delta').length >= 12);
    const { snapshot } = await new Listener(pod).joined();
    expect(snapshot).toEqual(sumOf(early.events, snapshot));
    expect(snapshot.blocks.map(({ blockType, open }) => ({ blockType, open }))).toEqual([
      { blockType: 'thinking', open: false },
      { blockType: 'text', open: true },
    ]);
    expect(snapshot.blocks[0]?.text).toBe('about it');
    expect(snapshot.blocks[1]?.text).toMatch(/^and say and say /);
  });

  it('is the same sum after a restart, whether the host was closed or killed', async () => {
    const opened = await hostFixture(scriptedModel, options);
    let host: Host = opened.host;
    const { directory, reopen, cwd } = opened;
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(act, fc.nat(25)), { maxLength: 10, size: 'max' }),
        fc.boolean(),
        async (steps, isKilled) => {
          const pod = await host.create({ cwd, settings: { autoRetry: false } });
          for (const [step, pause] of steps) {
            await step(pod);
            await turns(pause);
          }
          const copy = isKilled ? killedCopy(directory) : undefined;
          const watchedEvents = await watched(pod);
          if (copy === undefined) await host.shutdown();
          const next = await reopen(copy === undefined ? {} : { directory: copy });
          const again = next.pod(pod.id);
          const end = await again.snapshot();
          const events = await watched(again);
          expect(persistedPart(end)).toEqual(persistedPart(sumOf(events, end)));
          if (copy === undefined) {
            expect(events.slice(0, watchedEvents.length)).toEqual(watchedEvents);
            host = next;
          } else {
            await next.shutdown();
            await waitUntilIdle(pod);
          }
        },
      ),
      { numRuns: Number(process.env.POLYPOD_SNAPSHOTS ?? 15) },
    );
  });

  it('leaves no watcher behind when a consumer stops right after it', async () => {
    const { host, cwd } = await hostFixture([], { hibernateAfterMs: 0 });
    const pod = await host.create({ cwd, settings: { autoRetry: false } });
    for await (const step of pod.watch()) {
      expect(step.type).toBe('snapshot');
      break;
    }
    // A remaining watcher would keep the pod in memory.
    while (host.usage.pods > 0) await turns(1);
  });
});
