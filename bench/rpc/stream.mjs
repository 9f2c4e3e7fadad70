// Measures deltas through the RPC door.
//
// In this protocol every update contains the full message so far. The provider simulator, the program and its client are three
// processes, and only the program's CPU is counted; its log has its default durability. The floor (bench/floor/host.mjs) writes
// each delta separately. pi is measured only at sizes where it ends in reasonable time: it writes the message for every delta.
// Every figure comes from new processes; the programs take turns. Figures are medians over the rounds, and ratios and exponents
// are computed within each round.
import { runChild } from '../child.mjs';
import { atMost, figure, table } from '../report.mjs';
import { growthExponent, median } from '../statistics.mjs';

const FLOOR = new URL('../stream/point.mjs', import.meta.url);
const RPC = new URL('point.mjs', import.meta.url);
const COMPARED = 20_000;
const COUNTS = [2_000, COMPARED, 100_000];
const ROWS = [
  { kind: 'floor', work: 'text', point: FLOOR, counts: COUNTS },
  { kind: 'polypod', work: 'text', point: RPC, counts: COUNTS },
  { kind: 'polypod', work: 'tool', point: RPC, counts: [500, 2_000, 6_000] },
  { kind: 'pi', work: 'text', point: RPC, counts: [2_000] },
];
const [floor, text, tool, pi] = ROWS;

/** Prints the figures and returns the bars. */
export async function benchStream(rounds) {
  const { shown, ratio, exponent } = await measured(rounds);
  const growth = (row) => (row.counts.length < 2 ? '-' : figure(exponent(row)));
  const shownRow = (row, what) => [row.kind, ...COUNTS.map((count) => shown(row, count, what))];
  const rows = [floor, text, pi].map((row) => [...shownRow(row, 'cost'), growth(row)]);
  console.log(`${table(['CPU µs per delta', ...COUNTS, 'exponent'], rows)}\n`);
  const times = [text, pi].map((row) => shownRow(row, 'wallMs'));
  console.log(`${table(['ms from the prompt to the end', ...COUNTS], times)}\n`);
  const sizes = [text, pi].map((row) => shownRow(row, 'bytes'));
  console.log(`${table(['bytes written per delta', ...COUNTS], sizes)}\n`);
  const toolRow = ['polypod', ...tool.counts.map((count) => shown(tool, count, 'cost')), growth(tool)];
  console.log(`${table(['tool arguments, CPU µs per piece', ...tool.counts, 'exponent'], [toolRow])}\n`);
  return [
    atMost(`rpc / floor at ${COMPARED} deltas`, ratio(text, floor, COMPARED), 4),
    atMost('growth exponent', exponent(text), 1.05),
    atMost('tool arguments growth exponent', exponent(tool), 1.05),
    atMost('rpc / pi at 2000 deltas', ratio(text, pi, 2_000), 0.2),
  ];
}

/** The measurements, by row and count. */
async function measured(rounds) {
  const figures = new Map();
  const of = ({ kind, work }, count) => figures.get(`${kind} ${work} ${count}`);
  for (let round = 0; round < rounds; round++) {
    for (const at of [0, 1, 2]) {
      for (const { kind, work, point, counts } of ROWS) {
        const count = counts[at];
        if (count === undefined) continue;
        const { cpuUs, bytes, wallMs } = await runChild(point, [kind, work, count]);
        const key = `${kind} ${work} ${count}`;
        const values = { cost: cpuUs / count, bytes: bytes / count, wallMs };
        figures.set(key, [...(figures.get(key) ?? []), values]);
        console.error(`round ${round + 1}/${rounds}  ${key}  ${figure(cpuUs / count)} µs`);
      }
    }
  }
  const overRounds = (value) => median(Array.from({ length: rounds }, (_, round) => value(round)));
  const cost = (row, count, round) => of(row, count)[round].cost;
  return {
    shown: (row, count, what) => {
      const values = of(row, count)?.map((value) => value[what]);
      return values === undefined ? '-' : figure(median(values));
    },
    ratio: (row, other, count) => overRounds((round) => cost(row, count, round) / cost(other, count, round)),
    exponent: (row) =>
      overRounds((round) =>
        growthExponent(row.counts.map((size) => ({ size, cost: size * cost(row, size, round) }))),
      ),
  };
}
