import { readdirSync, readFileSync } from 'node:fs';
import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { OutputCapture } from '../../src/tools/process/output-capture.ts';
import { temporaryDirectory } from './fixture.ts';

test('output that arrives while the file is written is kept in order', async () => {
  const directory = temporaryDirectory();
  const source = new PassThrough({ highWaterMark: 1_000_000 });
  const capture = new OutputCapture(source, { directory, update: () => {} });
  const pieces = Array.from({ length: 50 }, (_, index) => `${index}:${'x'.repeat(9_000)}\n`);
  for (const piece of pieces) {
    source.write(piece);
    // Like Node does with the output of a child that ends.
    source.resume();
    await new Promise(setImmediate);
  }
  source.end();
  await capture.ended;
  const full = await capture.stop();
  expect(full).toEqual({ path: expect.any(String), bytes: pieces.join('').length, incomplete: undefined });
  expect(readFileSync(full?.path ?? '', 'utf8')).toBe(pieces.join(''));
  expect(readdirSync(directory)).toHaveLength(1);
});

test('a truncated output is reported once and its file released', async () => {
  const directory = temporaryDirectory();
  const source = new PassThrough();
  const capture = new OutputCapture(source, { directory, update: () => {} });
  source.write('x'.repeat(100_000));
  await new Promise(setImmediate);
  const [first, second] = [await capture.stop(), await capture.stop()];
  expect(first).toEqual(second);
  expect(readFileSync(first?.path ?? '', 'utf8')).toBe('x'.repeat(first?.bytes ?? 0));
});
