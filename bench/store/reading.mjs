// Measures the CPU of reading a log of 100,000 records of 200 bytes: node reading.mjs <way>
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readLines, readTail, realFiles, sealRecords } from '../../dist/store/index.js';
import { cpuPerRun } from '../measure.mjs';

const directory = mkdtempSync(join(tmpdir(), 'polypod-bench-store-'));
const path = join(directory, 'log.jsonl');
const text = 'x'.repeat(200 - 52);
writeFileSync(
  path,
  sealRecords(
    Array.from({ length: 100_000 }, (_, n) => JSON.stringify({ s: 'session-1', n, t: 'text', d: text })),
  ),
);

const WAYS = {
  raw: () =>
    readFileSync(path, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line)),
  log: async () => {
    const records = [];
    for await (const lines of readLines(realFiles, path))
      for (const line of lines) records.push(JSON.parse(line.text));
    return records;
  },
  tail: async () => (await readTail(realFiles, path, 100)).map((line) => JSON.parse(line.text)),
};

const once = WAYS[process.argv[2]];
const cpuUs = await cpuPerRun(once, once);
rmSync(directory, { recursive: true });
console.log(JSON.stringify({ cpuUs }));
