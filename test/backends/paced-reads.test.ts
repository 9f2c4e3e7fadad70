import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { pacedReads, withoutReadAhead } from '../../src/backends/paced-reads.ts';

const COUNT = 100;
const LINE = 'x'.repeat(299);

/** A program that writes one line, and, for each line that it receives, many lines with one system call each. */
const PROGRAM = `
  const { writeSync } = require('node:fs');
  writeSync(1, 'first\\n');
  process.stdin.on('data', () => {
    for (let line = 0; line < ${COUNT}; line += 1) writeSync(1, '${LINE}\\n');
    writeSync(2, 'written');
  });
`;

function start() {
  return withoutReadAhead(() => spawn(process.execPath, ['-e', PROGRAM], { stdio: 'pipe' }));
}

test('what was written since the last read is read together', async () => {
  const child = start();
  const reads = pacedReads(child.stdout);
  expect((await reads.next()).value?.toString()).toBe('first\n');
  child.stdin.write('more\n');
  await once(child.stderr, 'data');
  // More than a stream takes ahead by default.
  expect((await reads.next()).value?.toString()).toBe(`${LINE}\n`.repeat(COUNT));
  child.stdin.end();
  expect(await reads.next()).toEqual({ done: true, value: undefined });
});

test('the output of a program that has ended is read completely', async () => {
  const child = start();
  const pieces: Buffer[] = [];
  for await (const bytes of pacedReads(child.stdout)) {
    pieces.push(bytes);
    if (pieces.length > 1) continue;
    child.stdin.end('more\n');
    await once(child, 'exit');
  }
  expect(Buffer.concat(pieces).toString()).toBe(`first\n${`${LINE}\n`.repeat(COUNT)}`);
});

test('other streams keep the default limit', () => {
  const before = spawn(process.execPath, ['--version']).stdout.readableHighWaterMark;
  start().stdin.end();
  expect(spawn(process.execPath, ['--version']).stdout.readableHighWaterMark).toBe(before);
});
