import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { messageOf, PolypodError } from '../../../src/base/index.ts';
import { Host, type PodEvent, type Snapshot } from '../../../src/pod/index.ts';
import { type Sim, startSim } from '../../../src/sim/index.ts';
import { FaultyFiles } from '../../store/faulty-files.ts';
import { snapshotDifferences } from './snapshot-differences.ts';
import { logAfter, idleSnapshot } from './pod-reader.ts';
import { filesOf } from './power-cut.ts';
import { ADA, agentsOn, promptCommand } from '../fixture.ts';

type Contents = ReadonlyMap<string, Buffer>;

/** A session on disk, and its true content. */
interface SavedSession {
  readonly id: string;
  readonly session: string;
  readonly feed: string;
  /** Its files after a close and after a kill. */
  readonly closed: Contents;
  readonly killed: Contents;
  readonly events: readonly PodEvent[];
  readonly snapshot: Snapshot;
}

let sim: Sim;
let saved: SavedSession;

beforeAll(async () => {
  sim = await startSim({ script: () => ({ parts: [{ text: 'An answer, neither long nor short.' }] }) });
  const disk = new FaultyFiles();
  const host = await hostOn(disk);
  const pod = await host.create({ cwd: '/projects' });
  for (const text of ['one', 'two', 'three']) {
    await pod.handle(promptCommand(text), ADA);
    await idleSnapshot(pod);
  }
  // One event with several entries.
  await pod.handle({ type: 'configure', set: { name: 'four', thinking: 'low', archived: true } }, ADA);
  const snapshot = await pod.snapshot();
  const { events } = await logAfter(pod, 0, snapshot.seq);
  const [session, feed] = [`/data/sessions/${pod.id}.jsonl`, `/data/feeds/${pod.id}/0000000000000001.jsonl`];
  const contents = () =>
    new Map(['/data/catalogue.jsonl', session, feed].map((path) => [path, disk.contentOf(path)]));
  const killed = contents();
  await host.shutdown();
  saved = { id: pod.id, session, feed, closed: contents(), killed, events, snapshot };
});
afterAll(() => sim.close());

function hostOn(disk: FaultyFiles): Promise<Host> {
  return Host.open({ directory: '/data', agents: agentsOn(sim), files: filesOf(disk, new Set()) });
}

/** The outcome for a damaged session: it opens with a part of the true content, or the error locates the damage. */
type Outcome = 'opens' | 'refused' | `WRONG: ${string}`;

async function outcomeOf(contents: Contents): Promise<Outcome> {
  const disk = new FaultyFiles();
  for (const [path, content] of contents) disk.put(path, content);
  const host = await hostOn(disk);
  try {
    const pod = host.pod(saved.id);
    const snapshot = await pod.snapshot();
    if (!isBeginning(snapshot.items, saved.snapshot.items))
      return 'WRONG: its conversation never was like this';
    const received = await logAfter(pod, 0, snapshot.seq).catch(located);
    const known = received.events.filter(({ seq }) => seq <= saved.snapshot.seq);
    if (!isBeginning(known, saved.events)) return 'WRONG: these events were never received';
    const [problem] = received.gap === undefined ? snapshotDifferences(received.events, snapshot) : [];
    if (problem !== undefined) return `WRONG: ${problem}`;
    await pod.handle(promptCommand('again'), ADA);
    const { items } = await idleSnapshot(pod);
    return items.length === snapshot.items.length + 2 ? 'opens' : 'WRONG: it does not continue';
  } catch (thrown) {
    if (thrown instanceof PolypodError && LOCATED.test(thrown.message)) return 'refused';
    return `WRONG: ${messageOf(thrown)}`;
  } finally {
    await host.shutdown();
  }
}

const LOCATED = /is damaged at byte \d+|is damaged \(line \d+: .*polypod log repair \S+$/;

/** Unreadable events count as a gap. */
function located(thrown: unknown): { readonly events: readonly PodEvent[]; readonly gap: unknown } {
  if (LOCATED.test(messageOf(thrown))) return { events: [], gap: thrown };
  throw thrown;
}

function isBeginning(part: readonly unknown[], list: readonly unknown[]): boolean {
  return JSON.stringify(part) === JSON.stringify(list.slice(0, part.length));
}

const STATES = ['closed', 'killed'] as const;
const FILES = ['session', 'feed'] as const;

async function outcomes(
  state: (typeof STATES)[number],
  file: (typeof FILES)[number],
  damages: (content: Buffer) => Iterable<Buffer>,
): Promise<ReadonlyMap<Outcome, number>> {
  const counts = new Map<Outcome, number>();
  const path = saved[file];
  for (const damaged of damages(saved[state].get(path) ?? Buffer.alloc(0))) {
    const outcome = await outcomeOf(new Map([...saved[state], [path, damaged]]));
    counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
  }
  return counts;
}

describe.each(STATES)('a session that was %s', (state) => {
  describe.each(FILES)('and whose %s', (file) => {
    it('is torn at its end opens with the complete lines', async () => {
      const counts = await outcomes(state, file, function* torn(content) {
        for (let cut = 1; cut < content.length / 2; cut += 97)
          yield content.subarray(0, content.length - cut);
      });
      expect([...counts.keys()]).toEqual(['opens']);
    });

    it('has a flipped bit opens with true content, or reports the location and how to repair it', async () => {
      const counts = await outcomes(state, file, function* flipped(content) {
        // At regular steps, and in the header.
        for (let at = content.length - 2; at >= 0; at -= at > 211 ? 211 : 20) {
          const damaged = Buffer.from(content);
          damaged[at] = (damaged[at] ?? 0) ^ 1;
          yield damaged;
        }
      });
      expect([...counts.keys()].filter((outcome) => outcome.startsWith('WRONG'))).toEqual([]);
      // The session also contains what the feed contains, except live events, so a damaged feed does not prevent opening. A
      // damaged session must be repaired first.
      expect(counts.get(file === 'feed' ? 'opens' : 'refused') ?? 0).toBeGreaterThan(0);
      if (file === 'feed') expect(counts.get('refused')).toBeUndefined();
    });
  });
});
