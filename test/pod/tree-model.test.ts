import { join } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type Item, textContent } from '../../src/llm/index.ts';
import { Host, type Pod, type PodEvent } from '../../src/pod/index.ts';
import { type SimRequest, startSim } from '../../src/sim/index.ts';
import { summaryItem } from '../../src/worker/index.ts';
import { logOf } from './resume/resume-watchers.ts';
import { agentsOn, Listener, promptCommand, scratch } from './fixture.ts';

const RUNS = Number(process.env.POLYPOD_TREES ?? 12);

/** The messages up to an entry, and the entries on the path to it. */
interface TreeState {
  readonly items: readonly Item[];
  readonly way: readonly string[];
}

const START: TreeState = { items: [], way: [] };

const messageItem = (role: 'user' | 'assistant', text: string): Item => ({
  type: 'message',
  role,
  content: textContent(text),
});

/** A pod as plain lists. */
class PlainPod {
  id: string;
  seq = 0;
  now: TreeState = START;
  name: string | undefined;
  thinking: string | undefined;
  readonly moments = new Map<string, TreeState>();

  constructor(id: string) {
    this.id = id;
  }

  /** Records the entry of an event: its message is on the path to it. */
  note({ entryId }: PodEvent, items: readonly Item[] = this.now.items): void {
    if (entryId === undefined) return;
    this.now = { items, way: [...this.now.way, entryId] };
    this.moments.set(entryId, this.now);
  }

  pick(at: number): string {
    const ids = ['root', ...this.moments.keys()];
    return ids[at % ids.length] ?? 'root';
  }

  at(entryId: string): TreeState {
    return this.moments.get(entryId) ?? START;
  }
}

type CompactionResult = Extract<PodEvent, { type: 'compaction-end' }>['result'];

/** The host and the lists, changed together. */
class PodAndModel {
  host: Host;
  plain: PlainPod;
  readonly pods: PlainPod[];
  readonly open: () => Promise<Host>;
  compactions = 0;

  constructor(host: Host, id: string, open: () => Promise<Host>) {
    this.host = host;
    this.open = open;
    this.plain = new PlainPod(id);
    this.pods = [this.plain];
  }

  get pod(): Pod {
    return this.host.pod(this.plain.id);
  }

  /** The events since the last call. */
  async news(): Promise<readonly PodEvent[]> {
    const { seq } = await this.pod.snapshot();
    const log = seq > this.plain.seq ? await logOf(this.pod, seq) : [];
    const news = log.filter((event) => event.seq > this.plain.seq);
    this.plain.seq = seq;
    return news;
  }

  async noteNews(): Promise<void> {
    for (const event of await this.news()) this.plain.note(event);
  }

  async untilIdle(act: () => Promise<unknown>, type: PodEvent['type']): Promise<void> {
    const listener = new Listener(this.pod, this.plain.seq);
    await act();
    const { seq } = await listener.waitFor((event) => event.type === type);
    await listener.waitFor((event) => event.seq > seq && event.type === 'state' && event.state === 'idle');
    await listener.stop();
  }

  async prompt(text: string): Promise<void> {
    const { pod, plain } = this;
    await this.untilIdle(() => pod.handle(promptCommand(text)), 'run-end');
    for (const event of await this.news()) {
      const { items } = plain.now;
      if (event.type === 'input') plain.note(event, [...items, messageItem('user', text)]);
      else if (event.type === 'llm-end')
        plain.note(event, [...items, messageItem('assistant', `you said ${text}`)]);
      else plain.note(event);
    }
  }

  async compact(): Promise<void> {
    const { pod, plain } = this;
    await this.untilIdle(() => pod.handle({ type: 'compact', mayGrow: true }), 'compaction-end');
    for (const event of await this.news()) {
      const result: CompactionResult | undefined = event.type === 'compaction-end' ? event.result : undefined;
      if (result?.status !== 'compacted') {
        plain.note(event);
        continue;
      }
      this.compactions += 1;
      const { items } = plain.now;
      plain.note(event, [summaryItem(result.summary), ...items.slice(result.replaced)]);
    }
  }

  async branch(at: number): Promise<void> {
    const entryId = this.plain.pick(at);
    await this.pod.handle({ type: 'branch', entryId });
    this.plain.now = this.plain.at(entryId);
    await this.noteNews();
  }

  async fork(at: number): Promise<void> {
    const from = this.plain;
    const entryId = from.pick(at);
    const { id } = await this.host.fork(from.id, { entryId });
    this.plain = new PlainPod(id);
    this.pods.push(this.plain);
    const state = from.at(entryId);
    this.plain.now = state;
    this.plain.thinking = from.thinking;
    for (const one of state.way) this.plain.moments.set(one, from.at(one));
    this.plain.seq = (await this.pod.snapshot()).seq;
  }

  async configure(set: { name?: string; thinking?: 'low' | 'high' }): Promise<void> {
    await this.pod.handle({ type: 'configure', set });
    this.plain.name = set.name ?? this.plain.name;
    this.plain.thinking = set.thinking ?? this.plain.thinking;
    await this.noteNews();
  }

  async reopen(): Promise<void> {
    await this.host.shutdown();
    this.host = await this.open();
  }

  async turnTo(at: number): Promise<void> {
    this.plain = this.pods[at % this.pods.length] ?? this.plain;
  }

  async compare(): Promise<void> {
    const { items, settings, state } = await this.pod.snapshot();
    expect(items).toEqual(this.plain.now.items);
    expect({ name: settings.name, thinking: settings.thinking, state }).toEqual({
      name: this.plain.name,
      thinking: this.plain.thinking,
      state: 'idle',
    });
    expect(this.host.sessions.get(this.plain.id)?.name).toBe(this.plain.name);
  }
}

type Step = (both: PodAndModel) => Promise<void>;

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.nat(999).map(
      (at): Step =>
        (both) =>
          both.prompt(`message ${at}`),
    ),
  },
  {
    weight: 3,
    arbitrary: fc.nat(60).map(
      (at): Step =>
        (both) =>
          both.branch(at),
    ),
  },
  {
    weight: 2,
    arbitrary: fc.nat(60).map(
      (at): Step =>
        (both) =>
          both.fork(at),
    ),
  },
  { weight: 2, arbitrary: fc.constant<Step>((both) => both.compact()) },
  { weight: 2, arbitrary: fc.constant<Step>((both) => both.reopen()) },
  fc.nat(9).map(
    (at): Step =>
      (both) =>
        both.turnTo(at),
  ),
  fc
    .constantFrom<{ name?: string; thinking?: 'low' | 'high' }>(
      { name: 'one' },
      { name: 'two' },
      { thinking: 'low' },
      { thinking: 'high', name: 'three' },
    )
    .map(
      (set): Step =>
        (both) =>
          both.configure(set),
    ),
);

/** Repeats the last line: adjacent messages of a person reach it as one. */
function echoModel({ messages }: SimRequest) {
  const text = messages.at(-1)?.text ?? '';
  const isSummary = text.includes('Summarise the conversation above');
  return {
    parts: [{ text: isSummary ? `summary of ${text.length}` : `you said ${text.split('\n').at(-1)}` }],
  };
}

describe('a session through its host', () => {
  it('equals plain lists after any sequence of operations', {
    timeout: 120_000,
  }, async () => {
    const sim = await startSim({ script: echoModel });
    onTestFinished(() => sim.close());
    // So small that a few messages trigger a compaction.
    const agents = agentsOn(sim, { contextWindow: 20 });
    let compactions = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25, size: 'max' }), async (steps) => {
        const directory = join(scratch(), 'data');
        const open = () => Host.open({ directory, agents });
        const host = await open();
        const pod = await host.create({ cwd: scratch(), settings: { autoCompaction: false } });
        const both = new PodAndModel(host, pod.id, open);
        await both.noteNews();
        for (const one of [...steps, (last: PodAndModel) => last.reopen()]) {
          await one(both);
          await both.compare();
        }
        for (let at = 0; at < both.pods.length; at += 1) {
          await both.turnTo(at);
          await both.compare();
        }
        compactions += both.compactions;
        await both.host.shutdown();
      }),
      { numRuns: RUNS },
    );
    expect(compactions).toBeGreaterThan(0);
  });
});
