import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openLogFile } from '../../src/daemon/observe/log-file.ts';
import { directoryWith } from './directory.ts';

const entry = (message: string) => ({
  time: '2026-01-01T00:00:00.000Z',
  level: 'info' as const,
  message,
  fields: { n: 1 },
});

test('the log consists of JSON lines that only its user can read', async () => {
  const path = join(await directoryWith({}), 'logs/polypod.log');
  const log = openLogFile(path);
  log.write(entry('first'));
  log.close();
  log.write(entry('after the end'));
  const again = openLogFile(path);
  again.write(entry('second'));
  again.close();
  expect(readFileSync(path, 'utf8')).toBe(
    '{"time":"2026-01-01T00:00:00.000Z","level":"info","message":"first","n":1}\n{"time":"2026-01-01T00:00:00.000Z","level":"info","message":"second","n":1}\n',
  );
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(statSync(join(path, '..')).mode & 0o777).toBe(0o700);
});

test('a full log is rotated, and only the last files are kept, in order and without gaps', async () => {
  const path = join(await directoryWith({}), 'logs/polypod.log');
  const log = openLogFile(path, { mostBytes: 400, kept: 3 });
  for (let at = 0; at < 40; at += 1) log.write(entry(`line ${at}`));
  log.close();
  const names = readdirSync(join(path, '..')).toSorted();
  expect(names).toEqual(['polypod.log', 'polypod.log.1', 'polypod.log.2', 'polypod.log.3']);
  const lines = names
    .toReversed()
    .flatMap((name) =>
      readFileSync(join(path, '..', name), 'utf8')
        .trimEnd()
        .split('\n'),
    )
    .map((line) => Number((JSON.parse(line) as { message: string }).message.slice(5)));
  expect(lines).toEqual(lines.map((_, at) => 40 - lines.length + at));
  for (const name of names) expect(statSync(join(path, '..', name)).size).toBeLessThanOrEqual(400);
});
