import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createKeyCommand, type KeyCommandOptions } from '../../src/setup/config/key-command.ts';
import { temporaryDirectory } from '../cli/polypod.ts';
import { thrownBy } from '../sim/sims.ts';

const NEVER = new AbortController().signal;

/** A command that appends to `runs` and then executes the code, in which `run` is the number of this run. */
function keyCommand(code: string, more: Partial<KeyCommandOptions> = {}) {
  const cwd = temporaryDirectory();
  const counted = `const fs = require('node:fs'); fs.appendFileSync('runs', 'x');
    const run = fs.readFileSync('runs', 'utf8').length; ${code}`;
  writeFileSync(join(cwd, 'key.cjs'), counted);
  const command = createKeyCommand({
    command: [process.execPath, 'key.cjs'],
    cwd,
    source: 'accounts.work.key_command',
    ...more,
  });
  const env = { PATH: process.env.PATH };
  return {
    key: (signal = NEVER) => command.key(env, signal),
    renew: (rejected: string) => command.renew(rejected, env, NEVER),
    runs: () => readFileSync(join(cwd, 'runs'), 'utf8').length,
    cwd,
  };
}

test('a key is used until it expires, and concurrent requests share one run', async () => {
  const { key, runs } = keyCommand('console.log("key-" + run)');
  expect(await Promise.all([key(), key(), key()])).toEqual(['key-1', 'key-1', 'key-1']);
  expect(await key()).toBe('key-1');
  expect(runs()).toBe(1);
});

test('an expired key is replaced', async () => {
  const { key } = keyCommand('console.log("key-" + run)', { expiresAfterMs: 0 });
  expect([await key(), await key()]).toEqual(['key-1', 'key-2']);
});

test.each([
  ['{ key: "key-" + run, expires_at: new Date(Date.now() + 3_600_000) }'],
  ['{ accessToken: "key-" + run, expires_on: Math.floor(Date.now() / 1000) + 3600 }'],
  ['{ access_token: "key-" + run, expires_in: 3600 }'],
])('JSON states when the key expires: %s', async (json) => {
  const { key } = keyCommand(`console.log(JSON.stringify(${json}))`, { expiresAfterMs: 0 });
  expect([await key(), await key()]).toEqual(['key-1', 'key-1']);
});

test('a rejected key is replaced once', async () => {
  const { key, renew, runs } = keyCommand('console.log("key-" + run)');
  const rejected = await key();
  expect(await Promise.all([renew(rejected), renew(rejected)])).toEqual(['key-2', 'key-2']);
  expect(await renew(rejected)).toBe('key-2');
  expect(runs()).toBe(2);
});

test.each([
  [
    'console.log("hunter2-secret"); console.error("hunter2-secret"); process.exit(3)',
    'ended with exit code 3',
  ],
  ['console.log("hunter2 secret\\nhunter2 more")', 'printed no key'],
  ['console.log("")', 'printed no key'],
  ['console.log(JSON.stringify({ password: "hunter2" }))', 'printed no key'],
  ['process.stdout.write("hunter2".repeat(20_000)); setInterval(() => {}, 1000)', 'printed more than a key'],
])('a failure is reported without the output: %s', async (code, text) => {
  const thrown = String(await thrownBy(keyCommand(code).key()));
  expect(thrown).toContain(text);
  expect(thrown).toContain('accounts.work.key_command');
  expect(thrown).not.toContain('hunter2');
});

test('a missing program is reported', async () => {
  const thrown = await thrownBy(keyCommand('', { command: ['no-such-program', '$(id)'] }).key());
  expect(String(thrown)).toContain(
    'the program of accounts.work.key_command cannot run: "no-such-program" was not found on PATH',
  );
});

test('arguments are passed without a shell', async () => {
  const words = ['$HOME', '`id`', '; rm x', '*'];
  const command = [
    process.execPath,
    '-e',
    'console.log(process.argv.slice(1).join("").replaceAll(" ", "_"))',
  ];
  expect(await keyCommand('', { command: [...command, ...words] }).key()).toBe('$HOME`id`;_rm_x*');
});

test('the command is ended when every request that waits for it is cancelled', async () => {
  const { key, cwd } = keyCommand(
    'fs.writeFileSync("pid", String(process.pid)); setInterval(() => {}, 1000); fs.renameSync("pid", "ready")',
  );
  const abort = new AbortController();
  const waiting = thrownBy(key(abort.signal));
  const pid = await expect
    .poll(() => Number(readFileSync(join(cwd, 'ready'), 'utf8')), { timeout: 60_000 })
    .toBeGreaterThan(0)
    .then(() => Number(readFileSync(join(cwd, 'ready'), 'utf8')));
  abort.abort();
  expect(String(await waiting)).toContain('cancelled');
  await expect.poll(() => isRunning(pid), { timeout: 60_000 }).toBe(false);
});

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
