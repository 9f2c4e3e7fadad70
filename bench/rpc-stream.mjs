// Deltas through the RPC door beside the least host that does the job, and beside pi: node bench/rpc-stream.mjs [--quick]
//
// The protocol has every update carry the whole message so far. The provider simulator, the program and its client are three
// processes, and only the program's CPU counts; its log is on, at its default durability. The floor (bench/floor/host.mjs)
// writes each delta by itself. pi is measured where it ends in reasonable time: it writes the message for every delta.
// Fresh processes for every figure, in turns; medians over the rounds, ratios and exponents inside each.
import { parseArgs } from 'node:util';
import { requireBuild } from './built.mjs';
import { runChild } from './child.mjs';
import { atMost, figure, printBars, printResult, table } from './report.mjs';
import { growthExponent, median } from './statistics.mjs';

const { values: options } = parseArgs({ options: { quick: { type: 'boolean' } } });
requireBuild();
const ROUNDS = options.quick ? 1 : 5;
const FLOOR = new URL('stream/point.mjs', import.meta.url);
const RPC = new URL('rpc-stream/point.mjs', import.meta.url);
const COMPARED = 20_000;
const COUNTS = [2_000, COMPARED, 100_000];
const ROWS = [
  { kind: 'floor', work: 'text', point: FLOOR, counts: COUNTS },
  { kind: 'polypod', work: 'text', point: RPC, counts: COUNTS },
  { kind: 'polypod', work: 'tool', point: RPC, counts: [500, 2_000, 6_000] },
  { kind: 'pi', work: 'text', point: RPC, counts: [2_000] },
];
const [floor, text, tool, pi] = ROWS;

/** CPU microseconds and bytes for each delta, by round. */
const figures = new Map();
for (let round = 0; round < ROUNDS; round++) {
  for (const at of [0, 1, 2]) {
    for (const { kind, work, point, counts } of ROWS) {
      const count = counts[at];
      if (count === undefined) continue;
      const { cpuUs, bytes } = await runChild(point, [kind, work, count]);
      const key = `${kind} ${work} ${count}`;
      figures.set(key, [...(figures.get(key) ?? []), { cost: cpuUs / count, bytes: bytes / count }]);
      console.error(`round ${round + 1}/${ROUNDS}  ${key}  ${figure(cpuUs / count)} µs`);
    }
  }
}

const rows = [floor, text, pi].map((row) => [
  row.kind,
  ...COUNTS.map((count) => shown(row, count, 'cost')),
  growth(row),
]);
console.log(`${table(['CPU µs per delta', ...COUNTS, 'exponent'], rows)}\n`);
const sizes = [text, pi].map((row) => [row.kind, ...COUNTS.map((count) => shown(row, count, 'bytes'))]);
console.log(`${table(['bytes written per delta', ...COUNTS], sizes)}\n`);
const toolRow = ['polypod', ...tool.counts.map((count) => shown(tool, count, 'cost')), growth(tool)];
console.log(`${table(['tool arguments, CPU µs per piece', ...tool.counts, 'exponent'], [toolRow])}\n`);

const bars = [
  atMost(
    `rpc / floor at ${COMPARED} deltas`,
    overRounds((round) => cost(text, COMPARED, round) / cost(floor, COMPARED, round)),
    4,
  ),
  atMost('growth exponent', exponent(text), 1.05),
  atMost('tool arguments growth exponent', exponent(tool), 1.05),
  atMost(
    'rpc / pi at 2000 deltas',
    overRounds((round) => cost(text, 2_000, round) / cost(pi, 2_000, round)),
    0.2,
  ),
];
printBars(bars);
printResult('rpc-stream', bars);

function cost(row, count, round) {
  return figures.get(`${row.kind} ${row.work} ${count}`)[round].cost;
}

function shown({ kind, work }, count, what) {
  const values = figures.get(`${kind} ${work} ${count}`)?.map((value) => value[what]);
  return values === undefined ? '-' : figure(median(values));
}

function growth(row) {
  return row.counts.length < 2 ? '-' : figure(exponent(row));
}

function exponent(row) {
  return overRounds((round) =>
    growthExponent(row.counts.map((size) => ({ size, cost: size * cost(row, size, round) }))),
  );
}

function overRounds(value) {
  return median(Array.from({ length: ROUNDS }, (_, round) => value(round)));
}
