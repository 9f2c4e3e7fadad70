import { existsSync, mkdirSync, readlinkSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { bash } from '../../src/tools/bash.ts';
import { pidNamespace } from '../../src/tools/index.ts';
import { toolFixture, temporaryDirectory, outputText } from './fixture.ts';
import { survivorsOf, token } from './survivors.ts';

const env = { PATH: process.env.PATH ?? '' };
const isolation = pidNamespace({ env, hidden: () => [] });
const works = (await isolation.state()).state === 'on';
const isolated = () => toolFixture({}, { isolation });

async function run(command: string, more: object = {}) {
  return await isolated().call(bash, { command, ...more });
}

describe.runIf(works)('a command in a process namespace of its own', () => {
  test('sees only its own processes, and keeps files, user and exit code', async () => {
    const fixture = isolated();
    const command = `ls -d /proc/[0-9]* | wc -l; readlink /proc/self/ns/pid; pwd; id -u; ls /proc/${process.pid}/environ; exit 3`;
    const [count, namespace, directory, uid, missing, code] = outputText(
      await fixture.call(bash, { command }),
    ).split('\n');
    expect(Number(count)).toBeLessThan(8);
    expect(namespace).not.toBe(readlinkSync('/proc/self/ns/pid'));
    expect([directory, uid]).toEqual([fixture.directory, String(process.getuid?.())]);
    expect(missing).toContain('No such file');
    expect(code).toBe('[exit code 3]');
  });

  test('reports the signal that ended it', async () => {
    expect(outputText(await run('kill -SEGV $$'))).toContain('[exit code 139 (SIGSEGV)]');
  });

  test.each([
    ['in the shell', (mark: string) => `sleep ${mark} & echo started`],
    ['with nohup', (mark: string) => `nohup sleep ${mark} > /dev/null 2>&1 & echo started`],
    ['with setsid', (mark: string) => `setsid sleep ${mark} > /dev/null 2>&1 & echo started`],
    ['by a double fork', (mark: string) => `(setsid sleep ${mark} > /dev/null 2>&1 &); echo started`],
    // Without the namespace this one cannot be found.
    [
      'by a double fork without environment and output',
      (mark: string) => `(env -i setsid sleep ${mark} > /dev/null 2>&1 &); echo started`,
    ],
  ])('leaves nothing in the background %s', async (_, commandFor) => {
    const mark = token();
    expect(outputText(await run(commandFor(mark)))).toBe(
      `started\n[left in the background and ended: sleep ${mark}]`,
    );
    expect(survivorsOf(mark)).toEqual([]);
  });

  test('may clean up after a cancel, and is then ended', async () => {
    const fixture = isolated();
    const mark = token();
    const controller = new AbortController();
    const command = `trap "echo cleaned > done.txt; exit" TERM; (env -i setsid sleep ${mark} &); echo ready; while :; do sleep 0.02; done`;
    const running = fixture.call(bash, { command }, controller.signal);
    while (fixture.updates.length === 0) await sleep(5);
    controller.abort();
    expect(outputText(await running)).toContain('cancelled after');
    expect(fixture.text('done.txt')).toBe('cleaned\n');
    expect(survivorsOf(mark)).toEqual([]);
  });

  test('sees neither hidden directories nor hidden sockets', async () => {
    const directory = temporaryDirectory();
    mkdirSync(join(directory, 'run'));
    const [inside, outside] = [join(directory, 'run/daemon.sock'), join(directory, 'hld.sock')];
    for (const path of [inside, outside]) {
      const server = createServer().listen(path);
      onTestFinished(() => void server.close());
    }
    const hidden = [join(directory, 'run'), outside, join(directory, 'missing')];
    const fixture = toolFixture({}, { isolation: pidNamespace({ env, hidden: () => hidden }) });
    const program = `const net = require('net'); for (const path of ${JSON.stringify([inside, outside])}) net.connect(path).on('connect', () => console.log('connected', path)).on('error', (e) => console.log(e.code));`;
    writeFileSync(fixture.path('try.cjs'), program);
    const text = outputText(await fixture.call(bash, { command: `${process.execPath} try.cjs` }));
    expect(text.split('\n').toSorted()).toEqual(['ECONNREFUSED', 'ENOENT']);
    expect(existsSync(join(directory, 'missing'))).toBe(false);
    await new Promise((settle) => connect(inside).on('connect', settle));
  });
});

test('without bubblewrap, commands run without isolation and the reason is reported', async () => {
  const bare = pidNamespace({ env: { PATH: '/nowhere' }, hidden: () => [] });
  expect(await bare.state()).toEqual({
    state: 'off',
    why: 'bubblewrap is missing: install the package bubblewrap',
  });
  const fixture = toolFixture({}, { isolation: bare });
  expect(outputText(await fixture.call(bash, { command: 'echo $PPID' }))).toBe(String(process.pid));
});
