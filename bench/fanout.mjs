// One pod's deltas to many watchers on its socket, beside the least that can be done: node bench/fanout.mjs [--quick]
//
// The provider simulator, the host and the watchers are three processes, and only the host's CPU counts. Watchers are plain links
// of the Pod Protocol on a Unix socket. The floor (bench/fanout/floor-host.mjs) is the floor host with as many subscribers: it
// says a delta in the same words, and leaves out the rest of the protocol, of which the whole text at the end is the most. The
// figure is all the CPU of the host for each delta and watcher: with one of them it is mostly the stream's, with a thousand the
// writing. Every watcher must get every byte, but for the one that never reads, which is beside them and not counted. Fresh
// processes for every figure, in turns; medians over the rounds, ratios inside each.
import { parseArgs } from 'node:util';
import { requireBuild } from './built.mjs';
import { runChild } from './child.mjs';
import { atMost, figure, printBars, printResult, table } from './report.mjs';
import { median } from './statistics.mjs';

const { values: options } = parseArgs({ options: { quick: { type: 'boolean' } } });
requireBuild();
const ROUNDS = options.quick ? 2 : 5;
const POINT = new URL('fanout/point.mjs', import.meta.url);
const WATCHERS = [1, 10, 50, 200, 1_000];
/** Beside how many watchers one sits that never reads. */
const BESIDE = 50;
const ROWS = [
  { name: 'floor', kind: 'floor', idle: 0, counts: WATCHERS },
  { name: 'pod', kind: 'pod', idle: 0, counts: WATCHERS },
  { name: 'pod, one never reads', kind: 'pod', idle: 1, counts: [BESIDE] },
];
const [floor, pod, besideIdle] = ROWS;

/** CPU microseconds for each delivery, by round. */
const figures = new Map();
for (let round = 0; round < ROUNDS; round++) {
  for (const watchers of WATCHERS) {
    for (const { name, kind, idle } of ROWS.filter(({ counts }) => counts.includes(watchers))) {
      const { cpuUs } = await runChild(POINT, [kind, watchers, idle]);
      const key = `${name} ${watchers}`;
      figures.set(key, [...(figures.get(key) ?? []), cpuUs]);
      console.error(`round ${round + 1}/${ROUNDS}  ${name}  ${watchers} watchers  ${figure(cpuUs)} µs`);
    }
  }
}

const rows = ROWS.map((row) => [
  row.name,
  ...WATCHERS.map((watchers) => (row.counts.includes(watchers) ? figure(median(costs(row, watchers))) : '-')),
]);
console.log(`${table(['CPU µs per delivery, watchers', ...WATCHERS], rows)}\n`);
const bars = [
  ...WATCHERS.map((watchers) => atMost(`${watchers} watchers: pod / floor`, ratio(pod, floor, watchers), 2)),
  atMost(`one that never reads beside ${BESIDE}: with / without`, ratio(besideIdle, pod, BESIDE), 1.1),
];
printBars(bars);
printResult('fanout', bars);

function costs({ name }, watchers) {
  return figures.get(`${name} ${watchers}`);
}

function ratio(row, other, watchers) {
  const others = costs(other, watchers);
  return median(costs(row, watchers).map((cost, round) => cost / others[round]));
}
