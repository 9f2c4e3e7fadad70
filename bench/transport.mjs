// Compares node:http and fetch as provider transports, over loopback, with the same decoder.
//
//   node bench/transport.mjs [--quick]
//
// Measures the CPU per delta of an answer that arrives in a flood (16 events per write, and one event per write) and of one that
// is paced like a provider's; and the time from process start to the first delta. Every figure comes from a new process; the
// transports take turns. Figures are medians. There are no bars: the results support a decision.
//
// In a flood a slow reader receives more per read and does less work per delta; the last column shows how much. Only the paced
// answer reaches both transports in the same chunks.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { requireBuild } from './built.mjs';
import { runChild } from './child.mjs';
import { figure, printResult, table } from './report.mjs';
import { median } from './statistics.mjs';
import { TRANSPORTS } from './transport/transports.mjs';

const { values: options } = parseArgs({ options: { quick: { type: 'boolean' } } });
const SERVER = new URL('transport/server.mjs', import.meta.url);
const STREAMING = new URL('transport/streaming.mjs', import.meta.url);
const FIRST_DELTA = new URL('transport/first-delta.mjs', import.meta.url);
const NAMES = Object.keys(TRANSPORTS);
const STARTS = options.quick ? 5 : 21;
const LOADS = [
  { title: '16 events a write', deltas: 20_000, eventsPerWrite: 16, gapMs: 0, rounds: options.quick ? 2 : 5 },
  { title: '1 event a write', deltas: 20_000, eventsPerWrite: 1, gapMs: 0, rounds: options.quick ? 2 : 5 },
  {
    title: '1 event a write, every ms',
    deltas: 1000,
    eventsPerWrite: 1,
    gapMs: 1,
    rounds: options.quick ? 1 : 3,
  },
];
requireBuild();

const provider = spawn(process.execPath, [fileURLToPath(SERVER)], { stdio: ['pipe', 'pipe', 'inherit'] });
const [port] = await once(provider.stdout, 'data');
const origin = `http://127.0.0.1:${Number(port)}`;
try {
  await compareStreaming();
  await compareStarts();
} finally {
  provider.stdin.end();
}
printResult('transport', []);

async function compareStreaming() {
  const cases = LOADS.flatMap((load) => NAMES.map((name) => ({ name, load, results: [] })));
  for (let round = 0; cases.some(({ load }) => round < load.rounds); round++) {
    for (const { name, load, results } of cases.filter((one) => round < one.load.rounds)) {
      const args = [name, origin, load.deltas, load.eventsPerWrite, load.gapMs];
      const result = await runChild(STREAMING, args);
      results.push(result);
      console.error(`round ${round + 1}  ${load.title}  ${name}  ${figure(result.cpuUs / load.deltas)} µs`);
    }
  }
  const rows = cases.map(({ name, load, results }) => [
    `${load.title}  ${name}`,
    figure(median(results.map(({ cpuUs }) => cpuUs / load.deltas))),
    figure(load.deltas / median(results.map(({ pieces }) => pieces))),
  ]);
  console.log(`${table(['', 'CPU µs per delta', 'deltas per piece read'], rows)}\n`);
}

async function compareStarts() {
  const cases = NAMES.map((name) => ({ name, results: [] }));
  for (let start = 0; start < STARTS; start++) {
    for (const { name, results } of cases) {
      const args = [name, `${origin}/1000/16/0`, process.hrtime.bigint()];
      results.push(await runChild(FIRST_DELTA, args));
    }
  }
  const rows = cases.map(({ name, results }) => [
    name,
    figure(median(results.map(({ wallMs }) => wallMs))),
    figure(median(results.map(({ cpuMs }) => cpuMs))),
  ]);
  console.log(`${table(['process start to first delta', 'wall ms', 'CPU ms'], rows)}\n`);
}
