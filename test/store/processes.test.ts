import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { acquireLock, openLog, realFiles } from '../../src/store/index.ts';
import { compiled } from '../compiled.ts';
import { temporaryDirectory, textsOf } from './fixture.ts';
import { KIND } from './sweep.ts';

/** Appends under a lock as fast as possible and prints the record count after each acknowledged durable batch. */
const WRITER = `
import { acquireLock, openLog } from './src/store/index.js';
const [path] = process.argv.slice(2);
const header = ${JSON.stringify(KIND.header)};
const lock = acquireLock(path);
const log = await openLog(path, { header, isHeader: (text) => text === header, guard: () => lock.assertOwner() });
console.log('ready');
let count = Number(process.argv[3]);
try {
  for (;;) {
    const records = Array.from({ length: 1 + (count % 7) }, () => JSON.stringify({ n: count++, text: 'x'.repeat(count % 300) }));
    const acknowledged = count;
    const durable = count % 3 !== 0;
    const done = log.append(records, durable).then(() => process.stdout.write(acknowledged + '\\n'));
    if (count % 5 === 0) done.catch(() => {}); else await done;
  }
} catch (error) {
  console.log('refused: ' + error.message);
}
process.exit(0);
`;

/** Waits for the start signal, tries to acquire the lock, holds it briefly and prints when it held it. */
const RACER = `
import { acquireLock } from './src/store/index.js';
import { createInterface } from 'node:readline';
import { openSync, closeSync, unlinkSync } from 'node:fs';
for await (const line of createInterface({ input: process.stdin })) {
  const [path, how] = line.split(' ');
  let answer = 'lost';
  try {
    const lock = acquireLock(path);
    try {
      closeSync(openSync(path + '.inside', 'wx'));
      answer = 'won ' + lock.owner.epoch;
      const until = performance.now() + 0.3;
      while (performance.now() < until);
      lock.assertOwner();
      unlinkSync(path + '.inside');
    } catch (error) {
      answer = 'TWO OWNERS: ' + error.message;
    }
    if (how === 'release') lock.release();
  } catch (error) {
    if (error.code !== 'conflict') answer = 'BROKEN: ' + error.message;
  }
  process.stdout.write(answer + '\\n');
}
`;

const { directory: built, remove } = compiled('src/store');
afterAll(remove);
beforeAll(() => {
  writeFileSync(join(built, 'writer.js'), WRITER);
  writeFileSync(join(built, 'racer.js'), RACER);
});

/** The output of a child process, line by line. */
class ChildProgram {
  readonly child: ChildProcess;
  readonly lines: string[] = [];
  readonly exited: Promise<void>;
  #onLine: () => void = () => {};

  constructor(script: string, args: readonly string[]) {
    const child = spawn(process.execPath, [join(built, script), ...args], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    this.child = child;
    createInterface({ input: child.stdout }).on('line', (line) => {
      this.lines.push(line);
      this.#onLine();
    });
    this.exited = new Promise((resolve) => child.on('close', () => resolve()));
    onTestFinished(() => {
      child.kill('SIGKILL');
    });
  }

  async until(condition: () => boolean): Promise<void> {
    while (!condition()) await new Promise<void>((resolve) => (this.#onLine = resolve));
  }

  /** The highest acknowledged record count. */
  get acknowledged(): number {
    return Math.max(0, ...this.lines.map(Number).filter(Number.isFinite));
  }
}

async function numbersIn(path: string): Promise<readonly number[]> {
  const [header, ...texts] = await textsOf(realFiles, path);
  expect(header).toBe(KIND.header);
  return texts.map((text) => JSON.parse(text).n);
}

function upTo(count: number): readonly number[] {
  return Array.from({ length: count }, (_, n) => n);
}

describe('a process that is killed while it appends', () => {
  const kills = Number(process.env.POLYPOD_KILLS ?? 8);

  it('leaves all acknowledged records, and its lock can be taken over', {
    timeout: 120_000 + kills * 2000,
  }, async () => {
    const path = join(temporaryDirectory(), 'one.jsonl');
    let count = 0;
    for (let round = 0; round < kills; round += 1) {
      const writer = new ChildProgram('writer.js', [path, String(count)]);
      const goal = count + 20 + ((round * 137) % 400);
      await writer.until(() => writer.acknowledged >= goal);
      writer.child.kill('SIGKILL');
      await writer.exited;
      const lock = acquireLock(path);
      const log = await openLog(path, { ...KIND, guard: () => lock.assertOwner() });
      await log.close();
      lock.release();
      const numbers = await numbersIn(path);
      expect(numbers.length).toBeGreaterThanOrEqual(writer.acknowledged);
      expect(numbers).toEqual(upTo(numbers.length));
      count = numbers.length;
    }
  });
});

describe('a process that is suspended, replaced and resumed', () => {
  // Only /proc shows whether the process is suspended.
  it.runIf(process.platform === 'linux')(
    'refuses to append, and what the new owner writes stands alone',
    async () => {
      const path = join(temporaryDirectory(), 'one.jsonl');
      const writer = new ChildProgram('writer.js', [path, '0']);
      await writer.until(() => writer.acknowledged > 50);
      writer.child.kill('SIGSTOP');
      await until(() => /^\S+ \(.*\) T/.test(readFileSync(`/proc/${writer.child.pid}/stat`, 'utf8')));
      expect(() => acquireLock(path)).toThrow(`is open in process ${writer.child.pid}`);

      const lock = acquireLock(path, { takeOver: 'anyone' });
      expect(lock.owner.epoch).toBe(2);
      const log = await openLog(path, { ...KIND, guard: () => lock.assertOwner() });
      const before = await numbersIn(path);
      writer.child.kill('SIGCONT');
      await writer.exited;
      expect(writer.lines.at(-1)).toMatch(/^refused: one\.jsonl: another process has taken over/);
      expect(before.length).toBeGreaterThanOrEqual(writer.acknowledged);
      // The old writer may have been suspended between its check and its write. That write is not
      // acknowledged, and the new owner detects it instead of overwriting it.
      const total = (await numbersIn(path)).length;
      const append = () => log.append([JSON.stringify({ n: total })], true);
      if (total === before.length) await append();
      else {
        await expect(append()).rejects.toThrow('changed by another program');
        await log.reopen();
        await append();
      }
      await log.close();
      expect(await numbersIn(path)).toEqual(upTo(total + 1));
    },
  );
});

describe('processes that race for a lock', () => {
  it('never own it at the same time, in 200 rounds', { timeout: 120_000 }, async () => {
    const directory = temporaryDirectory();
    const racers = Array.from({ length: 4 }, () => new ChildProgram('racer.js', []));
    const tally = { won: 0, lost: 0 };
    for (let round = 0; round < 200; round += 1) {
      // In every third round there is a dead owner to take over from.
      const path = join(directory, `${round}.jsonl`);
      if (round % 3 === 0) leaveDeadOwner(path);
      const count = racers[0]?.lines.length ?? 0;
      const how = round % 2 === 0 ? 'keep' : 'release';
      for (const { child } of racers) child.stdin?.write(`${path} ${how}\n`);
      await Promise.all(racers.map((racer) => racer.until(() => racer.lines.length > count)));
      const answers = racers.map(({ lines }) => lines[count] ?? '');
      expect(answers.filter((answer) => !/^(?:won \d+|lost)$/.test(answer))).toEqual([]);
      const won = answers.filter((answer) => answer.startsWith('won')).length;
      if (how === 'keep') expect(won).toBe(1);
      else expect(won).toBeGreaterThan(0);
      tally.won += won;
      tally.lost += answers.length - won;
      expect(existsSync(`${path}.inside`)).toBe(false);
    }
    for (const { child } of racers) child.stdin?.end();
    console.log(
      `lock races: 200 rounds of 4 processes, ${tally.won} owners, ${tally.lost} refused, never two`,
    );
  });
});

function leaveDeadOwner(path: string): void {
  const lock = acquireLock(path);
  const file = join(`${path}.lock`, '1');
  writeFileSync(file, JSON.stringify({ ...lock.owner, startedAt: '1' }));
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5));
}
