// Measures the CPU per delta of a streamed answer, compared with the floor, the official SDKs, pi-ai and the AI SDK.
//
//   node bench/decode.mjs [--quick] [--only <wire>] [--json <file>]
//
// Every point is measured in a new process. The candidates take turns within each round; see measure.mjs for details. Figures
// are medians over the rounds. Ratios and exponents are computed within each round, because the speed of the machine varies.
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { requireBuild } from './built.mjs';
import { runChild } from './child.mjs';
import { WIRE_NAMES } from './decode/answers.mjs';
import { decodeBars } from './decode/bars.mjs';
import { Figures } from './decode/figures.mjs';
import { candidatesFor, COMPARED, plan, pointsOf, skipped, TOOL_COUNTS } from './decode/plan.mjs';
import { figure, printBars, printResult, table } from './report.mjs';

const { values: options } = parseArgs({
  options: { quick: { type: 'boolean' }, only: { type: 'string' }, json: { type: 'string' } },
});
if (options.only !== undefined && !WIRE_NAMES.includes(options.only)) {
  console.error(`--only takes one of ${WIRE_NAMES.join(', ')}`);
  process.exit(2);
}
requireBuild();

const planned = plan(options);
const figures = new Figures();
for (let round = 0; round < planned.rounds; round++) {
  for (const point of pointsOf(planned, round)) await measure(point, round);
}

const bars = decodeBars(figures, planned);
printText();
printTool();
printBars(bars);
if (options.json) writeFileSync(options.json, JSON.stringify({ planned, figures, bars }, undefined, 2));
printResult('decode', bars);

async function measure(point, round) {
  if (figures.hasFailed(point)) return;
  const { candidate, wire, work, count } = point;
  const label = `round ${round + 1}/${planned.rounds}  ${wire} ${work} ${count}  ${candidate}`;
  try {
    const module = new URL('decode/point.mjs', import.meta.url);
    const { cpuUs } = await runChild(module, [candidate, wire, work, count]);
    figures.add(point, round, cpuUs);
    console.error(`${label}  ${figure(cpuUs / count)} µs`);
  } catch (error) {
    figures.fail(point, error.message);
    console.error(`${label}  FAILED: ${error.message}`);
  }
}

function printText() {
  const { wires, counts } = planned;
  const head = ['CPU µs per delta', ...counts.map((count) => `${count}`), 'x floor', 'exponent'];
  const rows = wires.flatMap((wire) => candidatesFor(wire).map((candidate) => textRow(wire, candidate)));
  console.log(`${table(head, rows)}\n`);
  const reasons = wires.flatMap((wire) =>
    candidatesFor(wire).flatMap((candidate) => counts.map((count) => skipped({ candidate, wire, count }))),
  );
  for (const reason of new Set(reasons)) if (reason !== undefined) console.log(`${reason}\n`);
}

function textRow(wire, candidate) {
  const point = { candidate, wire, work: 'text', count: COMPARED };
  const floor = { ...point, candidate: 'floor' };
  const costs = planned.counts.map((count) => figures.perDelta({ ...point, count }));
  const summary = [figures.ratio(point, floor), figures.growth(point, planned.counts)];
  return [`${wire}  ${candidate}`, ...[...costs, ...summary].map(figure)];
}

function printTool() {
  if (planned.toolWires.length === 0) return;
  const head = ['tool arguments, CPU µs per piece', ...TOOL_COUNTS.map((count) => `${count}`), 'exponent'];
  const rows = planned.toolWires.map((wire) => {
    const point = { candidate: 'polypod', wire, work: 'tool' };
    const costs = TOOL_COUNTS.map((count) => figures.perDelta({ ...point, count }));
    return [`${wire}  polypod`, ...[...costs, figures.growth(point, TOOL_COUNTS)].map(figure)];
  });
  console.log(`${table(head, rows)}\n`);
}
