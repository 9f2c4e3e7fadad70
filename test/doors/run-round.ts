import { setTimeout as sleep } from 'node:timers/promises';
import type { PodEvent } from '../../src/pod/index.ts';
import { askedFindings, findings, waitUntilReceived } from './check.ts';
import type { WireName } from './clients/client.ts';
import { Daemon } from './daemon.ts';
import { brokenRules } from './invariants.ts';
import type { Round } from './plan.ts';
import { type DaemonProcesses, Schedule } from './schedule.ts';
import { withinTime } from './within-time.ts';

/** The statistics of a round. */
export interface Counts {
  readonly schedules: number;
  readonly kills: number;
  readonly actions: number;
  readonly connections: number;
  readonly events: number;
  readonly accepted: number;
  readonly approvals: number;
  readonly lines: Partial<Readonly<Record<WireName, number>>>;
}

export const NO_COUNTS: Counts = {
  ...{ schedules: 0, kills: 0, actions: 0, connections: 0, events: 0, accepted: 0, approvals: 0 },
  lines: {},
};

export function sumOf(one: Counts, other: Counts): Counts {
  const lines: Partial<Record<WireName, number>> = { ...one.lines };
  for (const [wire, count] of Object.entries(other.lines) as [WireName, number][])
    lines[wire] = (lines[wire] ?? 0) + count;
  return {
    schedules: one.schedules + other.schedules,
    kills: one.kills + other.kills,
    actions: one.actions + other.actions,
    connections: one.connections + other.connections,
    events: one.events + other.events,
    accepted: one.accepted + other.accepted,
    approvals: one.approvals + other.approvals,
    lines,
  };
}

export interface RoundResult {
  readonly counts: Counts;
  /** By the index of the schedule; -1 for the whole round. */
  readonly problems: readonly {
    readonly schedule: number;
    readonly problem: string;
    readonly trace: readonly string[];
  }[];
}

/** How long a run may continue at the end before it is cancelled. */
const PATIENT_MS = 1_500;

/** Runs all schedules of a round concurrently, kills the daemon meanwhile, and compares every door with the log at the end. */
export async function runRound({ plans, kills }: Round, only?: number): Promise<RoundResult> {
  const daemon = await Daemon.start();
  const processes = new Killer(daemon);
  const schedules = plans.map((plan) => new Schedule(plan, processes));
  const chosen = schedules
    .map((schedule, at) => [at, schedule] as const)
    .filter(([at]) => only === undefined || at === only);
  const problems: RoundResult['problems'][number][] = [];
  let counts: Counts = { ...NO_COUNTS, schedules: chosen.length };
  try {
    const killing = processes.killAfter(kills);
    const attempt = async (work: (schedule: Schedule) => Promise<readonly string[]>): Promise<void> => {
      await Promise.all(
        chosen.map(async ([at, schedule]) => {
          const found = await work(schedule).catch((thrown: unknown) => [String(thrown)]);
          for (const problem of found) problems.push({ schedule: at, problem, trace: schedule.trace });
        }),
      );
    };
    await attempt(async (schedule) => {
      await schedule.run();
      return [];
    });
    await killing;
    if (problems.length === 0)
      await attempt(async (schedule) => {
        const { log, found } = await settle(schedule, daemon);
        counts = sumOf(counts, countsOf(schedule, log));
        return found;
      });
    for (const { clients } of schedules) for (const client of clients) client.cut();
    await daemon.openAll();
    await daemon.stop();
    const left = await withinTime(
      'nothing is left',
      () => (daemon.leftovers().length === 0 ? [] : undefined),
      5_000,
    ).catch(() => daemon.leftovers());
    for (const one of left) problems.push({ schedule: -1, problem: `left behind: ${one}`, trace: [] });
    return { counts: { ...counts, kills: daemon.kills }, problems };
  } finally {
    await daemon.remove();
  }
}

/** Ends active runs through the doors, and checks the result. */
async function settle(
  schedule: Schedule,
  daemon: Daemon,
): Promise<{ readonly log: readonly PodEvent[]; readonly found: readonly string[] }> {
  await schedule.gather();
  await quiet(schedule, daemon);
  // A steering message that came too late for its run is sent with the next prompt.
  for (let at = 0; at < 8 && (await daemon.state(schedule.pod)).queue > 0; at += 1) {
    const content = [{ type: 'text', text: `last${at} [[sim text='the end' delay=0]]` }];
    await daemon.ask('command', {
      pod: schedule.pod,
      by: 'ada',
      command: { type: 'prompt', content, whenBusy: 'queue' },
    });
    await quiet(schedule, daemon);
  }
  await schedule.gather();
  const log = await daemon.log(schedule.pod);
  const found = [
    ...(await waitUntilReceived(schedule.clients, log)),
    ...brokenRules(log, schedule.sent),
    ...schedule.clients.flatMap((client) => findings(client, log)),
    ...(await askedFindings(schedule.clients, log)),
  ];
  return { log, found };
}

/** Decides pending approvals through any connected door, and cancels long runs. */
async function quiet(schedule: Schedule, daemon: Daemon): Promise<void> {
  let turn = 0;
  let runsSince = performance.now();
  await withinTime(`the session ${schedule.pod} comes to rest`, async () => {
    const { state, prompts } = await daemon.state(schedule.pod);
    if (state === 'idle' && prompts === 0) return true;
    const client = schedule.clients[turn % schedule.clients.length];
    turn += 1;
    if (state === 'waiting') {
      runsSince = performance.now();
      if (client?.isConnected === true) await client.decide?.(turn % 2 === 0 ? 'approve' : 'deny');
      if (turn > 3 * schedule.clients.length) await daemon.decideAll(schedule.pod);
    } else if (performance.now() - runsSince > PATIENT_MS) {
      runsSince = performance.now();
      // The run may have ended meanwhile.
      await daemon
        .ask('command', { pod: schedule.pod, by: 'ada', command: { type: 'cancel' } })
        .catch(() => {});
    }
    return undefined;
  });
}

function countsOf({ plan, sent, clients }: Schedule, log: readonly PodEvent[]): Counts {
  const lines: Partial<Record<WireName, number>> = {};
  for (const { wire, sequences } of clients)
    lines[wire] =
      (lines[wire] ?? 0) + sequences.reduce((sum, { lines: received }) => sum + received.length, 0);
  return {
    ...NO_COUNTS,
    actions: plan.steps.length + 1,
    connections: clients.reduce((sum, { connections }) => sum + connections, 0),
    events: log.length,
    accepted: sent.filter(({ outcome }) => outcome === 'accepted').length,
    approvals: log.filter(({ type }) => type === 'approval-request').length,
    lines,
  };
}

/** Kills the daemon and starts it again, while clients use it. */
class Killer implements DaemonProcesses {
  readonly daemon: Daemon;
  #processCount = 1;
  #up: Promise<void> = Promise.resolve();

  constructor(daemon: Daemon) {
    this.daemon = daemon;
  }

  count(): number {
    return this.#processCount;
  }

  async up(): Promise<void> {
    await this.#up;
  }

  async killAfter(kills: readonly number[]): Promise<void> {
    for (const ms of kills) {
      await sleep(ms);
      this.#processCount += 1;
      this.#up = this.daemon.kill().then(() => this.daemon.start());
      await this.#up;
    }
  }
}
