import { doors } from '../../src/registry.ts';
import type { WireName } from './clients/client.ts';
import type { Daemon } from './daemon.ts';
import { SharedSession } from './shared-session.ts';
import type { Scenario } from './scenarios.ts';
import { TABLE } from './table.ts';

/** How a door took part in a scenario. */
export interface Part {
  readonly door: string;
  /** Whether it acted itself; otherwise its protocol does not support the action, and it watched. */
  readonly acted: boolean;
  /** Lines of this door's clients that were compared with the log. */
  readonly lines: number;
  readonly problems: readonly string[];
  /** By wire: the names of the lines for each kind of event. */
  readonly words: ReadonlyMap<string, ReadonlySet<string>>;
}

const WATCHERS: readonly WireName[] = [
  'pod',
  'pod plain',
  'rpc',
  'hld',
  'acp',
  'tasks SSE',
  'tasks WebSocket',
];

const PIPES: ReadonlySet<WireName> = new Set(['rpc stdio', 'acp stdio']);

/** Runs a scenario once per door, concurrently, each in its own session. */
export async function runOnEveryDoor(daemon: Daemon, scenario: Scenario): Promise<readonly Part[]> {
  const restart = barrier(doors.length, async () => {
    await daemon.kill();
    await daemon.start();
  });
  return Promise.all(
    doors.map(async ({ name }) => {
      try {
        return await runOnDoor(daemon, scenario, name, restart.arrive);
      } finally {
        await restart.leave();
      }
    }),
  );
}

async function runOnDoor(
  daemon: Daemon,
  scenario: Scenario,
  door: string,
  restart: () => Promise<void>,
): Promise<Part> {
  const row = TABLE[door];
  if (row === undefined) throw new Error(`the door ${door} has no row in the table`);
  const [driver] = row.wires;
  const { action } = scenario;
  const acted = action === undefined || row.actions[action] !== undefined;
  const pipes = scenario.hasPipes === true ? row.wires.filter((wire) => PIPES.has(wire)) : [];
  const wires: readonly WireName[] = [...WATCHERS, ...pipes];
  const session = await SharedSession.open(daemon, driver, wires, scenario.first);
  try {
    await scenario.run?.(session, session.client(acted ? driver : 'pod'), restart);
    const { log, problems } = await session.settle();
    const own = session.clients.filter(({ wire }) => row.wires.includes(wire));
    const types = new Map(log.map(({ seq, type }) => [seq, type]));
    const words = new Map<string, Set<string>>();
    const note = (type: string, what: string): void => {
      words.set(type, (words.get(type) ?? new Set()).add(what.split(' ')[0] ?? ''));
    };
    for (const { sequences } of own)
      for (const { from, lines: received, approvalRequests = [], withdrawn = 0 } of sequences) {
        const isAcp = door === 'acp';
        if (approvalRequests.length > 0)
          note('approval-request', isAcp ? 'session/request_permission' : 'extension_ui_request');
        if (withdrawn > 0) note('approval-response', isAcp ? '$/cancel_request' : 'extension_ui_request');
        // A client that joins in the middle receives start events late, with the next event.
        if (from.highest <= 1) for (const { seq, what } of received) note(types.get(seq) ?? 'nothing', what);
      }
    return {
      door,
      acted,
      words,
      lines: own.reduce(
        (sum, { sequences }) =>
          sum + sequences.reduce((all, { lines: received }) => all + received.length, 0),
        0,
      ),
      problems: [
        ...problems,
        ...(scenario.ends(log)
          ? []
          : [
              `the log does not end as it should: ${log
                .slice(-8)
                .map((one) => JSON.stringify(one).slice(0, 200))
                .join('\n')}`,
            ]),
      ].map((problem) => `${scenario.name}, ${door}: ${problem}`),
    };
  } finally {
    session.leave();
  }
}

/** Runs a function once all have arrived or left. */
function barrier(
  size: number,
  action: () => Promise<void>,
): { arrive: () => Promise<void>; leave: () => Promise<void> } {
  let expected = size;
  let arrived: (() => void)[] = [];
  const check = async (): Promise<void> => {
    if (arrived.length === 0 || arrived.length < expected) return;
    const all = arrived;
    arrived = [];
    await action();
    for (const go of all) go();
  };
  return {
    arrive: async () => {
      const released = new Promise<void>((resolve) => arrived.push(resolve));
      await check();
      await released;
    },
    leave: async () => {
      expected -= 1;
      await check();
    },
  };
}
