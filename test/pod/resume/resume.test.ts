import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, describe, expect, it } from 'vitest';
import type { PodEvent } from '../../../src/pod/index.ts';
import { startSim } from '../../../src/sim/index.ts';
import { compiled } from '../../compiled.ts';
import type { ChildOptions, ChildMessage } from './resume-child.ts';
import { randomFrom, turns } from './resume-random.ts';
import { scriptedModel } from './resume-fixture.ts';
import { keepBusy, logOf, type Received, watchUnreliably } from './resume-watchers.ts';
import { scratch, hostFixture } from '../fixture.ts';

/** `npm run proof:resume` asks for more. */
const KILLS = Number(process.env.POLYPOD_RESUME_KILLS ?? 3);
const ROUNDS = Number(process.env.POLYPOD_RESUME_ROUNDS ?? 2);
const SEED = Number(process.env.POLYPOD_SEED ?? Date.now() % 1_000_000);
const PODS = 3;
const PROMPT = 'go\n[[sim deltas=200 size=5]]';

/** What one watcher received: its snapshot, if it started with one, and every event. */
class WatcherRecord {
  from: number | undefined;
  gaps = 0;
  readonly events: PodEvent[] = [];

  get last(): number | undefined {
    return this.events.at(-1)?.seq ?? this.from;
  }

  take(received: Received): void {
    if (received.type === 'events') this.events.push(...received.events);
    else if (received.reason === 'gap') this.gaps += 1;
    else this.from = received.seq;
  }

  /** Nothing lost, nothing duplicated: it is the log from its start on. */
  expectAll(log: readonly PodEvent[]): void {
    const from = this.from ?? 0;
    expect(this.gaps).toBe(0);
    expect(this.events.map(({ seq }) => seq)).toEqual(log.flatMap(({ seq }) => (seq > from ? [seq] : [])));
    expect(this.events).toEqual(log.filter(({ seq }) => seq > from));
  }
}

function report(what: string, records: readonly WatcherRecord[], counts: string): void {
  const events = records.reduce((sum, { events }) => sum + events.length, 0);
  console.log(
    `${what}: ${records.length} watchers, ${counts}, ${events} events: 0 lost, 0 doubled (seed ${SEED})`,
  );
}

describe('watchers that disconnect and resume', () => {
  it('receive each event once, in log order, while pods stream', { timeout: 600_000 }, async () => {
    const { host, cwd } = await hostFixture(scriptedModel, { limits: { watcher: 300 } });
    const random = randomFrom(SEED);
    const cuts = { count: 0 };
    const all: WatcherRecord[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const pods = await Promise.all(Array.from({ length: PODS }, () => host.create({ cwd })));
      const stop = new AbortController();
      const watchers: {
        readonly record: WatcherRecord;
        readonly over: Promise<void>;
        readonly pod: number;
      }[] = [];
      const join = (pod: number, after: number | undefined): void => {
        const record = new WatcherRecord();
        const watched = pods[pod];
        if (watched === undefined) return;
        const own = { random, cuts, signal: stop.signal };
        watchers.push({
          record,
          pod,
          over: watchUnreliably(watched, after, (received) => record.take(received), own),
        });
      };
      for (let at = 0; at < 4 * PODS; at += 1) join(at % PODS, 0);
      const busy = Promise.all(pods.map((pod) => keepBusy(pod, 3, PROMPT)));
      const busyUntil = new AbortController();
      const joining = (async () => {
        // Late ones, which start with a snapshot.
        for (let at = 0; !busyUntil.signal.aborted && at < 4 * PODS; at += 1) {
          await turns(random(60));
          join(at % PODS, undefined);
        }
      })();
      await busy;
      busyUntil.abort();
      await joining;
      const ends = await Promise.all(pods.map(async (pod) => (await pod.snapshot()).seq));
      for (const { record, pod } of watchers) while ((record.last ?? 0) < (ends[pod] ?? 0)) await turns(1);
      stop.abort();
      await Promise.all(watchers.map(({ over }) => over));
      const logs = await Promise.all(pods.map((pod, at) => logOf(pod, ends[at] ?? 0)));
      for (const { record, pod } of watchers) record.expectAll(logs[pod] ?? []);
      all.push(...watchers.map(({ record }) => record));
    }
    expect(cuts.count).toBeGreaterThan(ROUNDS * PODS);
    report('resume', all, `${cuts.count} cuts`);
  });
});

describe('watchers of a killed host', () => {
  const { directory: built, remove } = compiled('test/pod/resume/resume-child.ts');
  afterAll(remove);

  it('receive each event once across all its restarts', { timeout: 3_600_000 }, async () => {
    const sim = await startSim({ script: scriptedModel });
    const random = randomFrom(SEED);
    const [directory, cwd] = [join(scratch(), 'data'), scratch()];
    const records = Array.from({ length: 4 * PODS }, () => new WatcherRecord());
    let podIds: readonly string[] = [];
    let cuts = 0;
    for (let life = 0; life <= KILLS; life += 1) {
      const isLast = life === KILLS;
      const options: ChildOptions = {
        ...{ directory, cwd, url: sim.url, seed: SEED + life, podIds, pods: PODS, prompt: PROMPT },
        prompts: isLast ? 2 : 1_000,
        // Each pod has a watcher that starts with every process, with a snapshot.
        watchers: records.map(({ last }, at) => ({
          pod: at % PODS,
          ...(last === undefined ? (at < 3 * PODS ? { after: 0 } : {}) : { after: last }),
        })),
      };
      // Some are killed before their first line, most during their streams.
      const end = await runProcess(options, records, isLast ? undefined : random(120));
      podIds = end.podIds ?? podIds;
      cuts += end.cuts;
      if (!isLast) continue;
      for (const [at, one] of records.entries()) one.expectAll(end.logs[at % PODS] ?? []);
    }
    await sim.close();
    report(
      'resume across kills',
      records,
      `${KILLS} kills, ${KILLS * records.length} resumed in another process, ${cuts} cuts in the last life`,
    );
  });

  interface ProcessResult {
    podIds?: readonly string[];
    logs: readonly (readonly PodEvent[])[];
    cuts: number;
  }

  /** One process, killed after a number of lines, or ended when every watcher has everything. */
  async function runProcess(
    options: ChildOptions,
    records: readonly WatcherRecord[],
    killAfter: number | undefined,
  ): Promise<ProcessResult> {
    const script = join(built, 'test/pod/resume/resume-child.js');
    const child = spawn(process.execPath, [script, JSON.stringify(options)], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const exited = new Promise<void>((done) => child.once('close', () => done()));
    const result: ProcessResult = { logs: [], cuts: 0 };
    let lines = 0;
    const hasReceivedAll = (): boolean =>
      result.logs.length > 0 && records.every(({ last }, at) => last === result.logs[at % PODS]?.at(-1)?.seq);
    createInterface({ input: child.stdout }).on('line', (line) => {
      const message: ChildMessage | undefined = parsed(line);
      if (message?.type === 'received') records[message.watcher]?.take(message.received);
      if (message?.type === 'pods') result.podIds = message.podIds;
      if (message?.type === 'logs') [result.logs, result.cuts] = [message.logs, message.cuts];
      lines += 1;
      // Not before the pods have ids: without them no watcher could resume.
      if (killAfter !== undefined && lines > killAfter && result.podIds !== undefined) child.kill('SIGKILL');
      if (hasReceivedAll()) child.stdin.end();
    });
    await exited;
    return result;
  }
});

/** A kill may cut the last line. */
function parsed(line: string): ChildMessage | undefined {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
