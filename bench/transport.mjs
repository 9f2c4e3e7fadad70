// The provider transport: node:http against fetch, over loopback, in front of the same decoder.
//
//   node bench/transport.mjs [--quick]
//
// CPU for each delta of a long answer that arrives 16 events a write and one event a write, and the time from the start
// of a process to its first delta. Fresh process for every figure, in turns; medians. No bars: it backs a decision.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { runChild } from './child.mjs';
import { DELTA_SIZE } from './decode/answers.mjs';
import { figure, printResult, table } from './report.mjs';
import { median } from './statistics.mjs';
import { TRANSPORTS } from './transport/transports.mjs';

const { values: options } = parseArgs({ options: { quick: { type: 'boolean' } } });
const SERVER = new URL('transport/server.mjs', import.meta.url);
const STREAMING = new URL('transport/streaming.mjs', import.meta.url);
const FIRST_DELTA = new URL('transport/first-delta.mjs', import.meta.url);
const DELTAS = 20_000;
const EVENTS_PER_WRITE = [16, 1];
const ROUNDS = options.quick ? 2 : 5;
const STARTS = options.quick ? 5 : 21;
const NAMES = Object.keys(TRANSPORTS);

const provider = spawn(process.execPath, [fileURLToPath(SERVER), String(DELTAS)], {
  stdio: ['pipe', 'pipe', 'inherit'],
});
const [port] = await once(provider.stdout, 'data');
const base = `http://127.0.0.1:${Number(port)}`;
try {
  await compareStreaming();
  await compareStarts();
} finally {
  provider.stdin.end();
}
printResult('transport', []);

async function compareStreaming() {
  const cases = EVENTS_PER_WRITE.flatMap((events) => NAMES.map((name) => ({ name, events, results: [] })));
  for (let round = 0; round < ROUNDS; round++) {
    for (const { name, events, results } of cases) {
      const args = [name, `${base}/${events}`, DELTAS * DELTA_SIZE];
      results.push(await runChild(STREAMING, args));
      const { cpuUs } = results.at(-1);
      console.error(`round ${round + 1}/${ROUNDS}  ${events} a write  ${name}  ${figure(cpuUs / DELTAS)} µs`);
    }
  }
  const rows = cases.map(({ name, events, results }) => [
    `${events} a write  ${name}`,
    figure(median(results.map(({ cpuUs }) => cpuUs / DELTAS))),
    figure(DELTAS / median(results.map(({ pieces }) => pieces))),
  ]);
  console.log(`${table([`${DELTAS} deltas`, 'CPU µs per delta', 'deltas per piece read'], rows)}\n`);
}

async function compareStarts() {
  const cases = NAMES.map((name) => ({ name, results: [] }));
  for (let start = 0; start < STARTS; start++) {
    for (const { name, results } of cases) {
      const args = [name, `${base}/16`, process.hrtime.bigint()];
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
