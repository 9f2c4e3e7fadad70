// Measures one pod's deltas to many watchers in its own process, compared with a minimal host: node bench/fanout-process.mjs [--quick]
//
// The floor is the floor host with its clients in the same process: a plain Node program that streams from the simulator, turns
// each read into one write to a log and one array of parsed events, and passes that array to each consumer. A consumer is an
// async iterator over its own queue, which is the minimum that lets consumers read at different speeds. The floor encodes no
// lines, because events in the same process are passed as objects. On both sides a consumer visits every event and counts the
// deltas. The figure is the CPU of the process per delta and consumer: with one consumer it is mostly the stream, with a
// thousand it is mostly the distribution. Every figure comes from a new process; the sides take turns. Figures are medians over
// the rounds, and ratios are computed within each round.
import { parseArgs } from 'node:util';
import { requireBuild } from './built.mjs';
import { runChild } from './child.mjs';
import { atMost, figure, printBars, printResult, table } from './report.mjs';
import { median } from './statistics.mjs';

const { values: options } = parseArgs({ options: { quick: { type: 'boolean' } } });
requireBuild();
const ROUNDS = options.quick ? 2 : 5;
const POINT = new URL('fanout-process/point.mjs', import.meta.url);
const WATCHERS = [1, 10, 50, 200, 1_000];
/** The number of watchers beside one that never reads. */
const BESIDE = 50;

const figures = { floor: new Map(), pod: new Map(), 'pod, one never reads': new Map() };
for (let round = 0; round < ROUNDS; round++) {
  for (const watchers of WATCHERS) {
    await measure('floor', watchers);
    await measure('pod', watchers);
    if (watchers === BESIDE) await measure('pod, one never reads', watchers);
  }

  async function measure(name, watchers) {
    const kind = name === 'floor' ? 'floor' : 'pod';
    const { cpuUs } = await runChild(POINT, [kind, watchers, name === kind ? 0 : 1]);
    figures[name].set(watchers, [...(figures[name].get(watchers) ?? []), cpuUs]);
    console.error(
      `round ${round + 1}/${ROUNDS}  ${name}  ${watchers} watchers  ${figure(cpuUs)} µs a delivery`,
    );
  }
}

const rows = Object.entries(figures).map(([name, byWatchers]) => [
  name,
  ...WATCHERS.map((watchers) => (byWatchers.has(watchers) ? figure(median(byWatchers.get(watchers))) : '-')),
]);
console.log(`${table(['CPU µs per delivery, watchers', ...WATCHERS], rows)}\n`);
const bars = [
  ...WATCHERS.map((watchers) =>
    atMost(`${watchers} watchers: pod / floor`, ratio('pod', 'floor', watchers), 2),
  ),
  atMost(
    `one that never reads beside ${BESIDE}: with / without`,
    ratio('pod, one never reads', 'pod', BESIDE),
    1.1,
  ),
];
printBars(bars);
printResult('fanout-process', bars);

function ratio(name, other, watchers) {
  const others = figures[other].get(watchers);
  return median(figures[name].get(watchers).map((value, round) => value / others[round]));
}
