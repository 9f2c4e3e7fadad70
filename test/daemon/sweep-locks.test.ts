import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { sweepLocks } from '../../src/daemon/sockets/sweep-locks.ts';
import { acquireLock } from '../../src/store/index.ts';
import { cliFixture } from '../cli/daemon.ts';
import { temporaryDirectory } from '../cli/polypod.ts';

/** The lock of a process that was killed. */
function leaveLock(file: string): void {
  const store = JSON.stringify(resolve('dist/store/index.js'));
  const program = `import(${store}).then(({ acquireLock }) => { acquireLock(${JSON.stringify(file)}); process.kill(process.pid, 'SIGKILL'); })`;
  spawnSync(process.execPath, ['-e', program]);
  expect(readdirSync(`${file}.lock`)).toEqual(['1']);
}

it('removes dead locks of sessions that have no file, and nothing else', () => {
  const dataDirectory = temporaryDirectory();
  const sessions = join(dataDirectory, 'sessions');
  mkdirSync(sessions);
  leaveLock(join(sessions, 'never-written.jsonl'));
  leaveLock(join(sessions, 'written.jsonl'));
  writeFileSync(join(sessions, 'written.jsonl'), '');
  const living = acquireLock(join(sessions, 'about-to-be-written.jsonl'));
  onTestFinished(() => living.release());
  expect(sweepLocks({ dataDirectory })).toBe(1);
  expect(readdirSync(sessions).toSorted()).toEqual([
    'about-to-be-written.jsonl.lock',
    'written.jsonl',
    'written.jsonl.lock',
  ]);
  expect(sweepLocks({ dataDirectory: join(dataDirectory, 'not there') })).toBe(0);
});

it('serve removes them when it starts', async () => {
  const { serve, dataDirectory } = await cliFixture();
  const sessions = join(dataDirectory, 'sessions');
  mkdirSync(sessions, { recursive: true });
  leaveLock(join(sessions, 'never-written.jsonl'));
  await serve();
  expect(readdirSync(sessions)).toEqual([]);
});
