// Measures the CPU and wall-clock time of appending: node point.mjs <way> <durability>
//
// A run has 50 batches of 100 records of 200 bytes. Each record is created and serialized during the run, because a program has to
// create records before it can write them. `raw` joins the lines of a batch and writes them. `log` appends one record after the
// other, one batch per turn of the event loop; `waiting` waits for every batch, `streaming` continues while up to 4 batches are
// being written, like a pod whose model is streaming.
import { closeSync, fdatasync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { openLog } from '../../dist/store/index.js';
import { cpuPerRun } from '../measure.mjs';

const BATCHES = 50;
const BATCH = 100;
const [way, durability] = process.argv.slice(2);
const directory = mkdtempSync(join(tmpdir(), 'polypod-bench-store-'));
const path = join(directory, 'log.jsonl');
const text = 'x'.repeat(200 - 52);

const record = (n) => JSON.stringify({ s: 'session-1', n, t: 'text', d: text });
const { once, end } = await { raw, waiting: () => log(1), streaming: () => log(4) }[way]();
const spent = { runs: 0, ms: 0 };
const timed = async () => {
  const began = performance.now();
  await once();
  spent.runs += 1;
  spent.ms += performance.now() - began;
};
const cpuUs = await cpuPerRun(once, timed);
const wallUs = (spent.ms * 1000) / spent.runs;
await end();
rmSync(directory, { recursive: true });
console.log(JSON.stringify({ cpuUs: cpuUs / BATCHES / BATCH, wallUs: wallUs / BATCHES / BATCH }));

function raw() {
  const file = openSync(path, 'a');
  const sync = promisify(fdatasync);
  const once = async () => {
    for (let batch = 0; batch < BATCHES; batch++) {
      let lines = '';
      for (let n = 0; n < BATCH; n++) lines += `${record(n)}\n`;
      writeSync(file, lines);
      if (durability === 'full') await sync(file);
    }
  };
  return { once, end: () => closeSync(file) };
}

async function log(most) {
  const header = '{"type":"bench"}';
  const opened = await openLog(path, { header, isHeader: (line) => line === header, durability });
  const once = async () => {
    const underway = [];
    for (let batch = 0; batch < BATCHES; batch++) {
      for (let n = 1; n < BATCH; n++) void opened.append([record(n)], false);
      underway.push(opened.append([record(BATCH)], true));
      await (underway.length < most ? turn() : underway.shift());
    }
    await Promise.all(underway);
  };
  return { once, end: () => opened.close() };
}

function turn() {
  return new Promise((resolve) => setImmediate(resolve));
}
