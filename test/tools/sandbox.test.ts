import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { bash } from '../../src/tools/bash.ts';
import { bubblewrapSandbox } from '../../src/tools/index.ts';
import { callTool, stageWith, temporaryDirectory, textOf } from './stage.ts';
import { survivorsOf, token } from './survivors.ts';

const PROGRAM = 'bwrap';
const ENV = { PATH: process.env.PATH ?? '' };

/** Whether bubblewrap is there and may do what it has to: in some containers it may not. */
const works = (() => {
  try {
    const probe = '"$0" --ro-bind / / --unshare-pid --unshare-net --proc /proc true';
    execFileSync('sh', ['-c', probe, PROGRAM]);
    return true;
  } catch {
    return false;
  }
})();

/** Runs a command in a sandbox around a directory of its own; other directories are outside. */
async function sandboxed(command: (outside: string) => string, hidden: readonly string[] = []) {
  const stage = stageWith({ 'mine.txt': 'mine\n' });
  const outside = stageWith({ 'theirs.txt': 'theirs\n' });
  const sandbox = await bubblewrapSandbox({ writable: [stage.directory], hidden, env: ENV });
  const output = await callTool(bash, { command: command(outside.directory) }, { ...stage.around, sandbox });
  return { stage, outside, output, text: textOf(output) };
}

describe.runIf(works)('a command in the sandbox', () => {
  test('works in the directories it may write to', async () => {
    const { stage, output, text } = await sandboxed(() => 'cat mine.txt; echo new > new.txt; pwd; exit 3');
    expect(text).toBe(`mine\n${stage.directory}\n[exit code 3]`);
    expect(output.details).toMatchObject({ exitCode: 3, endedBy: 'itself' });
    expect(stage.text('new.txt')).toBe('new\n');
  });

  test('works below such a directory, and reads a directory it may not write to', async () => {
    const stage = stageWith({ 'sub/a.txt': '' });
    const sandbox = await bubblewrapSandbox({ writable: [stage.directory], hidden: ['/no/such'], env: ENV });
    const below = { ...stage.around, cwd: stage.path('sub'), sandbox };
    expect(textOf(await callTool(bash, { command: 'touch b.txt; ls' }, below))).toBe('a.txt\nb.txt');
    const other = stageWith({ 'c.txt': '' });
    const outside = { ...stage.around, cwd: other.directory, sandbox };
    expect(textOf(await callTool(bash, { command: 'ls; touch d.txt' }, outside))).toMatch(
      /^c\.txt\n.*Read-only/,
    );
  });

  test('writes nowhere else, not through links either', async () => {
    const targets = ['/etc/polypod-test', '/usr/polypod-test', '/var/tmp/polypod-test', '/opt/polypod-test'];
    const { outside, text } = await sandboxed((directory) =>
      [...targets, `${directory}/new.txt`]
        .map((target) => `(echo x > ${target}) 2>/dev/null && echo wrote ${target}`)
        .concat(`ln -s ${directory} link; (echo x > link/new.txt) 2>/dev/null && echo wrote by link; true`)
        .join('\n'),
    );
    expect(text).toBe('(no output)');
    expect(readdirSync(outside.directory)).toEqual(['theirs.txt']);
    expect(targets.filter((target) => existsSync(target))).toEqual([]);
  });

  test('cannot make the rest writable again', async () => {
    const { text } = await sandboxed(
      () => 'mount -o remount,rw / 2>&1; mount --bind /tmp /etc 2>&1; touch /etc/polypod-test',
    );
    expect(text).toContain('[exit code 1]');
    expect(existsSync('/etc/polypod-test')).toBe(false);
  });

  test('has a /tmp of its own', async () => {
    const name = `polypod-test-${token()}`;
    const { text, outside } = await sandboxed(
      (directory) => `echo x > /tmp/${name}; ls /tmp; cat ${directory}/theirs.txt`,
    );
    expect(text).toContain(name);
    expect(text).toContain(`${outside.directory}/theirs.txt: No such file`);
    expect(existsSync(`/tmp/${name}`)).toBe(false);
  });

  test('reaches no network', async () => {
    const server = createServer((socket) => socket.end('hello')).listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await sleep(20);
    const { port } = server.address() as { port: number };
    const { text } = await sandboxed(() => `exec 3<>/dev/tcp/127.0.0.1/${port} && cat <&3`);
    expect(text).toMatch(/Connection refused|unreachable/);
  });

  test('does not see what is hidden', async () => {
    const secret = stageWith({ 'daemon.sock': '' }).directory;
    const { text } = await sandboxed(() => `ls -A ${secret} | wc -l`, [secret]);
    expect(text.trim()).toBe('0');
  });

  test('sees no other process and can signal none', async () => {
    const { text } = await sandboxed(() => `ls -d /proc/[0-9]* | wc -l; kill -0 ${process.pid} 2>&1; id -u`);
    expect(Number(text.split('\n')[0])).toBeLessThan(8);
    expect(text).toContain('No such process');
  });

  test('is ended whole by a cancel, whatever it left', async () => {
    const mark = token();
    const stage = stageWith();
    const sandbox = await bubblewrapSandbox({ writable: [stage.directory], hidden: [], env: ENV });
    const controller = new AbortController();
    const command = `trap '' TERM; (env -i setsid sleep ${mark} > /dev/null 2>&1 &); echo ready; sleep ${mark}`;
    const running = callTool(bash, { command }, { ...stage.around, sandbox }, controller.signal);
    while (survivorsOf(`sleep ${mark}`).length === 0) await sleep(10);
    controller.abort();
    await running;
    expect(survivorsOf(mark)).toEqual([]);
  });

  test('leaves no background process behind, even one that hides', async () => {
    const mark = token();
    await sandboxed(() => `(env -i setsid sleep ${mark} > /dev/null 2>&1 &); sleep 0.1`);
    // The kernel ends what is left in the sandbox; it may take it a moment.
    await expect.poll(() => survivorsOf(mark)).toEqual([]);
  });
});

describe('a sandbox that does not work is refused, and nothing runs without it', () => {
  const refusal = async (env: Readonly<Record<string, string>>, writable: readonly string[] = []) =>
    await bubblewrapSandbox({ writable, hidden: [], env }).then(
      () => 'it works',
      (thrown: Error & { code?: string }) => `${thrown.code}: ${thrown.message}`,
    );

  test('when bubblewrap is not installed', async () => {
    expect(await refusal({ PATH: temporaryDirectory() })).toBe(
      'denied: The sandbox needs bubblewrap: install the package bubblewrap, which brings bwrap.',
    );
  });

  test('when the system forbids it', async () => {
    const directory = temporaryDirectory();
    writeFileSync(
      `${directory}/bwrap`,
      '#!/bin/sh\necho "bwrap: setting up uid map: Permission denied" >&2; exit 1\n',
    );
    chmodSync(`${directory}/bwrap`, 0o755);
    expect(await refusal({ PATH: directory })).toBe(
      'denied: The sandbox does not work on this machine (bwrap: setting up uid map: Permission denied). The system does not let programs make namespaces: set kernel.unprivileged_userns_clone=1, on Ubuntu kernel.apparmor_restrict_unprivileged_userns=0, or in a container allow them.',
    );
  });

  test('when a directory to write to is not there', async () => {
    const directory = temporaryDirectory();
    symlinkSync('/bin/true', `${directory}/bwrap`);
    expect(await refusal({ PATH: directory }, [`${directory}/none`])).toContain(
      'Name a directory that is there.',
    );
  });
});
