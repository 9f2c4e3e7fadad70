// Measures appending to a log, compared with plain writes of the same durability: node bench/store.mjs [--quick]
//
// Records have 200 bytes, 100 per write. Raw: the joined lines with one `writeSync`, followed by an awaited `fdatasync` at level
// full (a blocking sync costs less CPU but stalls every other pod). Log: each record with its checksum, one write per turn of
// the event loop, and checks of the file before it. Opening: the last 100 records of a long log, compared with reading and
// parsing all of it. Every figure comes from a new process; the sides take turns. Figures are medians.
import { parseArgs } from 'node:util';
import { requireBuild } from './built.mjs';
import { runChild } from './child.mjs';
import { atMost, figure, printBars, printResult, table } from './report.mjs';
import { median } from './statistics.mjs';

const { values: options } = parseArgs({ options: { quick: { type: 'boolean' } } });
requireBuild();
const ROUNDS = options.quick ? 2 : 5;
const WAYS = ['raw', 'waiting', 'streaming'];
const LEVELS = ['none', 'full'];
const APPEND = new URL('store/point.mjs', import.meta.url);
const READ = new URL('store/reading.mjs', import.meta.url);

const READ_NAMES = {
  raw: 'read and parse the file',
  log: 'read the lines, verify and parse',
  tail: 'the last 100 records',
};

const appends = Object.fromEntries(LEVELS.map((level) => [level, { raw: [], waiting: [], streaming: [] }]));
const reads = { raw: [], log: [], tail: [] };
for (let round = 0; round < ROUNDS; round++) {
  for (const level of LEVELS)
    for (const way of WAYS) {
      const point = await runChild(APPEND, [way, level]);
      appends[level][way].push(point);
      console.error(`round ${round + 1}/${ROUNDS}  ${level}  ${way}  ${figure(point.cpuUs)} µs a record`);
    }
  for (const way of Object.keys(reads)) {
    const { cpuUs } = await runChild(READ, [way]);
    reads[way].push(cpuUs);
    console.error(`round ${round + 1}/${ROUNDS}  reading  ${way}  ${figure(cpuUs / 1000)} ms`);
  }
}

const rows = LEVELS.flatMap((level) =>
  WAYS.map((way) => {
    const of = (key) => median(appends[level][way].map((point) => point[key]));
    return [`${level}  ${way}`, figure(of('cpuUs')), figure(of('wallUs')), figure(1000 / of('wallUs'))];
  }),
);
console.log(`${table(['appending a record', 'CPU µs', 'wall µs', 'thousands/s'], rows)}\n`);
const readRows = Object.entries(reads).map(([way, values]) => [
  READ_NAMES[way],
  figure(median(values) / 1000),
]);
console.log(`${table(['100,000 records', 'CPU ms'], readRows)}\n`);

// A rate of at least one half is a cost of at most double. Compared within each round, because the speed of the machine varies.
const bars = [
  ...LEVELS.flatMap((level) =>
    WAYS.slice(1).map((way) => {
      const { raw, [way]: log } = appends[level];
      return atMost(`append, ${level}, ${way}: CPU log / raw`, ratio(log.map(cpuOf), raw.map(cpuOf)), 2);
    }),
  ),
  atMost('reading and parsing all: CPU log / raw', ratio(reads.log, reads.raw), 2),
];
printBars(bars);
printResult('store', bars);

function cpuOf({ cpuUs }) {
  return cpuUs;
}

function ratio(values, floors) {
  return median(values.map((value, round) => value / floors[round]));
}
