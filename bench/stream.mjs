// Measures deltas through a pod to a client in another process, compared with a minimal host: node bench/stream.mjs [--quick]
//
// The provider simulator, the host and the client are three processes, and only the host's CPU is counted. The pod's log has its
// default durability; a watcher in the host's process encodes each batch once and writes it to the client's socket. The floor
// (bench/floor/host.mjs) does the same without a pod: it has one log, which is never synced, and pauses its provider when the
// client does not drain. Both encode a delta in the same format. Every figure comes from new processes; the sides take turns.
// Figures are medians over the rounds, and ratios and exponents are computed within each round.
import { parseArgs } from 'node:util';
import { requireBuild } from './built.mjs';
import { runChild } from './child.mjs';
import { atMost, figure, printBars, printResult, table } from './report.mjs';
import { growthExponent, median } from './statistics.mjs';

const { values: options } = parseArgs({ options: { quick: { type: 'boolean' } } });
requireBuild();
const ROUNDS = options.quick ? 2 : 5;
const POINT = new URL('stream/point.mjs', import.meta.url);
const COMPARED = 20_000;
const LINEAR = 1.05;
const ROWS = [
  { kind: 'floor', work: 'text', counts: [2_000, COMPARED, 100_000] },
  { kind: 'pod', work: 'text', counts: [2_000, COMPARED, 100_000] },
  { kind: 'pod', work: 'tool', counts: [500, 2_000, 6_000] },
];
const [floor, text, tool] = ROWS;

/** CPU microseconds for each delta, by round. */
const figures = new Map();
for (let round = 0; round < ROUNDS; round++) {
  for (const at of [0, 1, 2]) {
    for (const { kind, work, counts } of ROWS) {
      const count = counts[at];
      const { cpuUs } = await runChild(POINT, [kind, work, count]);
      const key = `${kind} ${work} ${count}`;
      figures.set(key, [...(figures.get(key) ?? []), cpuUs / count]);
      console.error(`round ${round + 1}/${ROUNDS}  ${key}  ${figure(cpuUs / count)} µs`);
    }
  }
}

const textRows = [floor, text].map((row) => [row.kind, ...costs(row), figure(growth(row))]);
console.log(`${table(['CPU µs per delta', ...floor.counts, 'exponent'], textRows)}\n`);
const toolRow = ['pod', ...costs(tool), figure(growth(tool))];
console.log(`${table(['tool arguments, CPU µs per piece', ...tool.counts, 'exponent'], [toolRow])}\n`);

const bars = [
  atMost(
    `pod / floor at ${COMPARED} deltas`,
    overRounds((round) => cost(text, COMPARED, round) / cost(floor, COMPARED, round)),
    3,
  ),
  atMost('growth exponent', growth(text), LINEAR),
  atMost('tool arguments growth exponent', growth(tool), LINEAR),
  atMost(
    'tool arguments µs per piece',
    Math.max(...tool.counts.map((count) => overRounds((round) => cost(tool, count, round)))),
    15,
  ),
];
printBars(bars);
printResult('stream', bars);

function cost({ kind, work }, count, round) {
  return figures.get(`${kind} ${work} ${count}`)[round];
}

function costs(row) {
  return row.counts.map((count) => figure(overRounds((round) => cost(row, count, round))));
}

function growth(row) {
  return overRounds((round) =>
    growthExponent(row.counts.map((size) => ({ size, cost: size * cost(row, size, round) }))),
  );
}

function overRounds(value) {
  return median(Array.from({ length: ROUNDS }, (_, round) => value(round)));
}
