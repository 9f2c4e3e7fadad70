// CPU and wall time of appending: node point.mjs <way> <durability> <records>
//
// A run is 50 batches of 100 records of 200 bytes, each built and serialised as it comes, as in a program: records have to be
// made before they can be written. `raw` joins the lines of a batch and writes them, `log` appends one record after the other
// and waits for the batch, as a pod does.
import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openLog } from '../../dist/store/index.js';
import { cpuPerRun } from '../measure.mjs';

const BATCHES = 50;
const BATCH = 100;
const [way, durability, folder] = process.argv.slice(2);
const directory = mkdtempSync(join(folder ?? tmpdir(), 'polypod-bench-store-'));
const path = join(directory, 'log.jsonl');
const text = 'x'.repeat(200 - 52);

const record = (n) => JSON.stringify({ s: 'session-1', n, t: 'text', d: text });
const { once, end } = await { raw, log }[way]();
const began = performance.now();
let runs = 0;
const cpuUs = await cpuPerRun(once, () => {
  runs += 1;
  return once();
});
const wallUs = runs === 0 ? 0 : ((performance.now() - began) * 1000) / runs;
await end();
rmSync(directory, { recursive: true });
console.log(JSON.stringify({ cpuUs: cpuUs / BATCHES / BATCH, wallUs: wallUs / BATCHES / BATCH }));

function raw() {
  const file = openSync(path, 'a');
  const once = () => {
    for (let batch = 0; batch < BATCHES; batch++) {
      let lines = '';
      for (let n = 0; n < BATCH; n++) lines += `${record(n)}\n`;
      writeSync(file, lines);
      if (durability === 'full') fdatasyncSync(file);
    }
  };
  return { once, end: () => closeSync(file) };
}

async function log() {
  const header = '{"type":"bench"}';
  const opened = await openLog(path, { header, isHeader: (line) => line === header, durability });
  const once = async () => {
    for (let batch = 0; batch < BATCHES; batch++) {
      for (let n = 1; n < BATCH; n++) void opened.append([record(n)], false);
      await opened.append([record(BATCH)], durability === 'full');
    }
  };
  return { once, end: () => opened.close() };
}
