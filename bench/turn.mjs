// Measures what the Worker's loop adds to direct calls of the provider's stream: node bench/turn.mjs [--quick]
//
// The same conversation runs twice with a model in memory: with manual requests, and with a Worker. A long text answer shows the
// cost of a delta; many small turns with one tool call each show the cost of a turn. Every figure comes from a new process; the
// sides take turns. Figures are medians.
import { parseArgs } from 'node:util';
import { runChild } from './child.mjs';
import { atMost, figure, printBars, printResult, table } from './report.mjs';
import { median } from './statistics.mjs';

const { values: options } = parseArgs({ options: { quick: { type: 'boolean' } } });
const ROUNDS = options.quick ? 2 : 5;
const POINT = new URL('turn/point.mjs', import.meta.url);
const WAYS = ['direct', 'worker'];
const CASES = [
  { name: 'one answer of 20,000 deltas', turns: 0, deltas: 20_000, unit: 'delta', units: 20_000, bar: 1.5 },
  { name: '50 turns with a tool call each', turns: 50, deltas: 1, unit: 'turn', units: 51, bar: 2 },
];

const figures = CASES.map(() => ({ direct: [], worker: [] }));
for (let round = 0; round < ROUNDS; round++) {
  for (const [at, { turns, deltas, units, unit }] of CASES.entries()) {
    for (const way of WAYS) {
      const { cpuUs } = await runChild(POINT, [way, turns, deltas], { flags: ['--expose-gc'] });
      figures[at][way].push(cpuUs / units);
      console.error(`round ${round + 1}/${ROUNDS}  ${way}  ${figure(cpuUs / units)} µs per ${unit}`);
    }
  }
}

const rows = CASES.map(({ name, unit }, at) => {
  const [direct, worker] = WAYS.map((way) => median(figures[at][way]));
  return [name, unit, figure(direct), figure(worker), figure(worker - direct), figure(worker / direct)];
});
console.log(`${table(['CPU µs', 'per', 'direct', 'worker', 'added', 'ratio'], rows)}\n`);
const bars = CASES.map(({ unit, bar }, at) =>
  atMost(`worker / direct per ${unit}`, median(figures[at].worker) / median(figures[at].direct), bar),
);
printBars(bars);
printResult('turn', bars);
