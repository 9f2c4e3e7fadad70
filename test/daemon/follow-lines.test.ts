import { appendFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { followLines } from '../../src/daemon/index.ts';
import { directoryWith } from './directory.ts';

async function follow(directory: string) {
  const stop = new AbortController();
  const file = join(directory, 'log');
  const lines = followLines({
    files: () => [`${file}.1`, file],
    directory,
    follow: true,
    signal: stop.signal,
  });
  /** Returns the next lines, skipping empty batches. */
  const next = async (): Promise<readonly string[]> => {
    for (;;) {
      const { value, done } = await lines.next();
      if (done === true) return ['the end'];
      if (value.length > 0) return value;
    }
  };
  return { file, next, stop };
}

test('yields complete lines once, also across a rotation', async () => {
  const { file, next, stop } = await follow(await directoryWith({ log: 'one\ntwo\nthr' }));
  expect(await next()).toEqual(['one', 'two']);
  const third = next();
  appendFileSync(file, 'ee\n');
  expect(await third).toEqual(['three']);
  const fourth = next();
  appendFileSync(file, 'four\n');
  renameSync(file, `${file}.1`);
  writeFileSync(file, 'five\n');
  expect([...(await fourth), ...(await next())]).toEqual(['four', 'five']);
  const end = next();
  stop.abort();
  expect(await end).toEqual(['the end']);
});

test('ends with the current content without following', async () => {
  const directory = await directoryWith({ log: 'one\n\ntwo\n', other: 'x\n' });
  const seen: (readonly string[])[] = [];
  const files = () => [join(directory, 'missing'), join(directory, 'log')];
  for await (const lines of followLines({
    files,
    directory,
    follow: false,
    signal: new AbortController().signal,
  }))
    seen.push(lines);
  expect(seen).toEqual([['one', 'two'], []]);
});
