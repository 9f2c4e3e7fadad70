import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { bash } from '../../src/tools/bash.ts';
import { findProcess, listPs, listProcesses } from '../../src/tools/process/process-list.ts';
import { withDescendants } from '../../src/tools/process/process-tree.ts';
import { temporaryDirectory, toolFixture } from './fixture.ts';
import { holdersOf, survivorsOf, token } from './survivors.ts';

/** How many process trees are cancelled at a random moment; `POLYPOD_CANCELS=200` for the long version. */
const CANCELS = Number(process.env.POLYPOD_CANCELS ?? 30);
const AT_ONCE = 6;

/** Process trees that hide in different ways. The marker is an argument for `sleep`. */
const TREES: readonly ((mark: string) => string)[] = [
  (mark) => `sleep ${mark}`,
  (mark) => `sleep ${mark} & sleep ${mark} & wait`,
  (mark) => `bash -c "bash -c 'sleep ${mark} & wait'; :"`,
  (mark) => `yes ${mark} | cat | cat > /dev/null`,
  (mark) => `yes ${mark}`,
  // Outside the group and the session.
  (mark) => `setsid sleep ${mark} & setsid setsid sleep ${mark} & sleep ${mark}`,
  (mark) =>
    `nohup sleep ${mark} > /dev/null 2>&1 & nohup setsid sleep ${mark} > /dev/null 2>&1 & sleep ${mark}`,
  // Detached from the parents.
  (mark) => `( ( sleep ${mark} & ) & ); sleep ${mark}`,
  (mark) =>
    `(setsid bash -c '(setsid sleep ${mark} > /dev/null 2>&1 &); sleep ${mark}' > /dev/null 2>&1 &); sleep ${mark}`,
  (mark) =>
    `perl -MPOSIX -e 'exit if fork; setsid; exit if fork; open STDOUT, ">/dev/null"; open STDERR, ">/dev/null"; sleep 1000' ${mark}; sleep ${mark}`,
  // Without the marker in the environment.
  (mark) => `(env -i setsid sleep ${mark} &); env -i sleep ${mark} & sleep ${mark}`,
  (mark) => `(env -i sleep ${mark} > /dev/null 2>&1 &); sleep ${mark}`,
  // Ignoring SIGTERM.
  (mark) => `trap '' TERM HUP INT; sleep ${mark} & while :; do sleep 0.05; done`,
  (mark) => `setsid bash -c "trap '' TERM; sleep ${mark}; sleep ${mark}" & trap '' TERM; wait; sleep ${mark}`,
  // Stopped.
  (mark) => `sleep ${mark} & kill -STOP $!; kill -STOP $$; : ${mark}`,
  // Continuously starting new ones.
  (mark) => `while :; do (setsid sleep ${mark} &); sleep 0.02; done`,
  (mark) => `trap 'sleep ${mark} & setsid sleep ${mark} &' TERM; while :; do sleep 0.01; done`,
];

describe('no process is left behind', () => {
  test(`after ${CANCELS} cancels at random moments`, { timeout: 120_000 + CANCELS * 2_000 }, async () => {
    const waiting = Array.from({ length: CANCELS }, (_, index) => index);
    const survivors: string[] = [];
    const cancelOne = async (index: number): Promise<void> => {
      const mark = token();
      const command = TREES[index % TREES.length]?.(mark) ?? '';
      const fixture = toolFixture();
      const controller = new AbortController();
      const running = fixture.call(bash, { command }, controller.signal);
      await sleep(Math.random() ** 2 * 300);
      controller.abort();
      await running;
      survivors.push(...survivorsOf(mark).map((survivor) => `${command}: ${survivor}`));
      // Our own pipe and its relay have ended as well.
      expect(readdirSync(fixture.context.scratch).filter((name) => name.startsWith('pipe-'))).toEqual([]);
      await expect.poll(() => holdersOf(fixture.context.scratch)).toEqual([]);
    };
    const worker = async (): Promise<void> => {
      for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) await cancelOne(next);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    expect(survivors).toEqual([]);
  });
});

describe('the processes of a machine', () => {
  test('are listed equally by ps and /proc', async () => {
    const [ours, byPs] = [await listProcesses(), await listPs()];
    const find = (list: typeof ours) => list.find(({ pid }) => pid === process.pid);
    expect(find(byPs)).toMatchObject({ pid: process.pid, parent: process.ppid });
    expect(find(ours)).toMatchObject({ pid: process.pid, parent: process.ppid, group: find(byPs)?.group });
  });

  test('are running while a thread runs, and exiting from the start of their exit to their end', () => {
    const proc = temporaryDirectory();
    const stat = (path: string, state: string, flags: number, threads: number): void => {
      mkdirSync(join(proc, path), { recursive: true });
      const fields = [state, 1, 7, 7, 0, -1, flags, 0, 0, 0, 0, 0, 0, 0, 0, 20, 0, threads, 0, 99];
      writeFileSync(join(proc, path, 'stat'), `7 (a) b) ${fields.join(' ')}\n`);
    };
    const ids = { pid: 7, parent: 1, group: 7, session: 7, start: 99 };
    stat('7', 'S', 0x400000, 1);
    expect(findProcess(7, proc)).toEqual({ ...ids, isExiting: false });
    stat('7', 'R', 0x400004, 1);
    expect(findProcess(7, proc)).toEqual({ ...ids, isExiting: true });
    stat('7', 'Z', 0x40000c, 1);
    expect(findProcess(7, proc)).toBeUndefined();
    stat('7', 'R', 0x400004, 3);
    stat('7/task/7', 'Z', 0x40000c, 3);
    stat('7/task/8', 'R', 0x400044, 3);
    stat('7/task/9', 'S', 0x400040, 3);
    expect(findProcess(7, proc)).toEqual({ ...ids, isExiting: false, thread: 9 });
    stat('7', 'Z', 0x40000c, 3);
    expect(findProcess(7, proc)).toEqual({ ...ids, isExiting: false, thread: 9 });
    stat('7/task/9', 'X', 0x400040, 3);
    expect(findProcess(7, proc)).toBeUndefined();
    expect(findProcess(8, proc)).toBeUndefined();
  });

  test('belong to a tree by descent', () => {
    const process = (pid: number, parent: number) => ({
      pid,
      parent,
      group: 0,
      session: 0,
      start: 0,
      isExiting: false,
    });
    const all = [process(1, 0), process(2, 1), process(3, 2), process(4, 3), process(5, 1), process(6, 6)];
    const tree = withDescendants(all, ({ pid }) => pid === 2 || pid === 6);
    expect(tree.map(({ pid }) => pid)).toEqual([2, 6, 3, 4]);
    const chain = Array.from({ length: 50_000 }, (_, index) => process(index + 1, index));
    expect(withDescendants(chain, ({ pid }) => pid === 1)).toHaveLength(50_000);
  });
});
