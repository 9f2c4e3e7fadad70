import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { CALL_MARK_VARIABLE } from '../../src/base/index.ts';
import { agentProcessReason } from '../../src/wire/unix/peer-process.ts';

const uid = process.getuid?.() ?? 0;
const hasPerlThreads =
  process.platform === 'linux' &&
  spawnSync('perl', ['-Mthreads', '-e', '1'], { stdio: 'ignore' }).status === 0;

function start(program: string, args: readonly string[], env: Record<string, string>): number {
  const child = spawn(program, args, { env: { PATH: process.env.PATH, ...env }, stdio: 'ignore' });
  onTestFinished(async () => {
    child.kill('SIGKILL');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  });
  return child.pid ?? -1;
}

const stateOf = (pid: number) => readFileSync(`/proc/${pid}/stat`, 'latin1').replace(/^.*\) /s, '')[0];

describe.runIf(process.platform === 'linux')('the process at the other end of a socket', () => {
  it('is one of an agent if it has the mark of a command in its environment', async () => {
    const marked = start('sleep', ['600'], { [CALL_MARK_VARIABLE]: 'another-call' });
    const plain = start('sleep', ['600'], {});
    expect(agentProcessReason({ pid: plain, uid }, [])).toBeUndefined();
    expect(agentProcessReason({ pid: marked, uid }, [])).toBe('it was started by a command of an agent');
  });

  it.skipIf(!hasPerlThreads)('is one of an agent although its main thread has ended', async () => {
    const exitThisThread = `syscall(${process.arch === 'x64' ? 60 : 93}, 0)`;
    const script = `threads->create(sub { sleep 600 }); ${exitThisThread}`;
    const pid = start('perl', ['-Mthreads', '-e', script], { [CALL_MARK_VARIABLE]: 'another-call' });
    while (stateOf(pid) !== 'Z') await sleep(10);
    expect(agentProcessReason({ pid, uid }, [])).toBe('it was started by a command of an agent');
  });
});
