import { type ChildProcess, spawn } from 'node:child_process';
import { appendFileSync, copyFileSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { Row } from '../../../src/pod/catalogue/index.ts';
import { acquireLock, type Files, realFiles, sealRecords } from '../../../src/store/index.ts';
import { compiled } from '../../compiled.ts';
import { temporaryDirectory } from '../../store/fixture.ts';
import { idsOf, opened, readAgain, rowOf, written } from './catalogue-fixture.ts';

/** Compacts the file after every write. */
const ALWAYS = Number.NEGATIVE_INFINITY;

function newPath(): string {
  return join(temporaryDirectory(), 'catalogue.jsonl');
}

function lineOf(row: Row): Buffer {
  return Buffer.from(sealRecords([JSON.stringify({ type: 'row', row })]));
}

function linesIn(path: string): number {
  return readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line !== '').length;
}

describe('a catalogue file with many more lines than rows', () => {
  it('is compacted to one line per row with the same content', async () => {
    const path = newPath();
    const catalogue = await opened(path, { spareLines: 50 });
    const watching = await opened(path);
    for (let queued = 0; queued < 200; queued += 1) {
      catalogue.put(rowOf(`id-${queued % 5}`, { queued }));
      if (queued === 100) catalogue.remove('id-0');
      await written(catalogue);
      if (queued % 30 === 0) await watching.refresh();
    }
    expect(linesIn(path)).toBeLessThan(70);
    await watching.refresh();
    expect(watching.list()).toEqual(catalogue.list());
    expect(await readAgain(path)).toEqual([0, 1, 2, 3, 4].map((n) => rowOf(`id-${n}`, { queued: 195 + n })));
  });

  it('is not compacted while another process does it', async () => {
    const path = newPath();
    const catalogue = await opened(path, { spareLines: ALWAYS });
    const lock = acquireLock(path);
    for (let queued = 0; queued < 5; queued += 1) {
      catalogue.put(rowOf('one', { queued }));
      await written(catalogue);
    }
    expect(linesIn(path)).toBe(6);
    lock.release();
    for (let queued = 5; queued < 10; queued += 1) {
      catalogue.put(rowOf('one', { queued }));
      await written(catalogue);
    }
    expect(linesIn(path)).toBe(2);
    expect((await readAgain(path))[0]?.queued).toBe(9);
  });
});

describe('a catalogue file that is replaced during a write', () => {
  /** The real file system, with changes by other processes before and after the rename. */
  function filesWith(path: string, before: () => void, after = () => {}): Files {
    return {
      ...realFiles,
      rename: (from, to) => {
        expect(to).toBe(path);
        before();
        realFiles.rename(from, to);
        after();
      },
    };
  }

  it('keeps a row that was appended to the old file right before the rename', async () => {
    const path = newPath();
    const append = () => appendFileSync(path, lineOf(rowOf('late')));
    const catalogue = await opened(path, { spareLines: ALWAYS, files: filesWith(path, append) });
    catalogue.put(rowOf('early'));
    await written(catalogue);
    expect(idsOf(catalogue.list())).toEqual(['late', 'early']);
    expect(idsOf(await readAgain(path))).toEqual(['early', 'late']);
  });

  it('keeps the removal of a row right before the rename', async () => {
    const path = newPath();
    const remove = () => appendFileSync(path, sealRecords(['{"type":"removed","id":"one"}']));
    const catalogue = await opened(path, { spareLines: ALWAYS, files: filesWith(path, remove) });
    catalogue.put(rowOf('one'));
    catalogue.put(rowOf('two'));
    await written(catalogue);
    expect(idsOf(await readAgain(path))).toEqual(['two']);
  });

  it('does not let a copied state override one that was appended to the new file', async () => {
    const path = newPath();
    const state = (name: string) => () => appendFileSync(path, lineOf(rowOf('one', { name })));
    const files = filesWith(path, state('before'), state('after'));
    const catalogue = await opened(path, { spareLines: ALWAYS, files });
    catalogue.put(rowOf('two'));
    await written(catalogue);
    // The old state was copied after the new one.
    expect(readFileSync(path, 'utf8')).toMatch(/"after".*\n[^]*"copied":true.*"before"/);
    expect(catalogue.get('one')?.name).toBe('after');
    expect((await readAgain(path))[0]?.name).toBe('after');
  });

  it('receives a row again that was written to the old file after the rename', async () => {
    const path = newPath();
    let isArmed = false;
    const files: Files = {
      ...realFiles,
      openToAppend: (which) => {
        const file = realFiles.openToAppend(which);
        const append = (bytes: Uint8Array): number => {
          if (!isArmed) return file.append(bytes);
          isArmed = false;
          copyFileSync(path, `${path}.copy`);
          const count = file.append(bytes);
          renameSync(`${path}.copy`, path);
          return count;
        };
        return { ...file, append };
      },
    };
    const catalogue = await opened(path, { files });
    catalogue.put(rowOf('early'));
    await written(catalogue);
    isArmed = true;
    catalogue.put(rowOf('late'));
    await written(catalogue);
    expect(isArmed).toBe(false);
    expect(idsOf(await readAgain(path))).toEqual(['early', 'late']);
  });
});

/** The common start of both scripts: opens a catalogue and checks whether stdin has ended. */
const BEGIN = `
import { Catalogue } from './src/pod/catalogue/index.js';
import { statSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
const [path, template, spareLines, name, rows, perTurn] = JSON.parse(process.argv[2]);
const catalogue = await Catalogue.open(path, { spareLines: spareLines ?? -Infinity, onFailure: fail });
function fail(error) { console.log(error.message); process.exit(1); }
const put = (id, queued) => catalogue.put({ ...template, id, queued });
// A writer that does not wait for its own writes is faster than the others can read.
const written = () => new Promise(setImmediate).then(() => catalogue.refresh());
let isOver = false;
process.stdin.resume().on('end', () => { isOver = true; });
`;

/** Writes successive states of its rows, several per event loop turn, and prints the last state at the end. */
const WRITER = `${BEGIN}
let [queued, count] = [0, 0];
// At least once, even if the others have finished before it started.
do {
  queued += 1;
  // Compacting takes longer, the longer the file: without a limit, two fast writers outrun it on a busy machine.
  while ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) > ${2 * 1024 * 1024} && !isOver) await sleep(1);
  for (let n = 0; n < rows; n += 1) {
    put(name + '-' + n, queued);
    if (++count % perTurn === 0) await written();
  }
} while (!isOver);
await catalogue.close();
console.log(queued);
`;

/** Compacts the file as often as possible, and prints a line after each replacement. */
const COMPACTOR = `${BEGIN}
let inode = 0;
for (let queued = 1; !isOver; queued += 1) {
  put('compactor', queued);
  await written();
  const { ino } = statSync(path);
  if (ino !== inode) console.log('exchanged');
  inode = ino;
}
await catalogue.close();
`;

const { directory: built, remove } = compiled('src/pod/catalogue');
afterAll(remove);
beforeAll(() => {
  writeFileSync(join(built, 'writer.js'), WRITER);
  writeFileSync(join(built, 'compactor.js'), COMPACTOR);
});

describe('two processes that append while a third compacts the file', () => {
  it.each([
    { rows: 100, perTurn: 10, exchanges: 3 },
    { rows: 20, perTurn: 1, exchanges: 10 },
  ])(
    'lose nothing: $rows rows each, $perTurn in a turn, $exchanges exchanges',
    { timeout: 180_000 },
    async ({ rows, perTurn, exchanges }) => {
      const path = newPath();
      const template = rowOf('');
      const compactor = new ChildProgram('compactor.js', [path, template, null]);
      const writers = ['a', 'b'].map(
        (name) =>
          new ChildProgram('writer.js', [path, template, Number.MAX_SAFE_INTEGER, name, rows, perTurn]),
      );
      const reader = await opened(path);
      while (compactor.lines.length < exchanges) {
        await compactor.nextLine();
        await reader.refresh();
      }
      // Close this one first: it can replace the file faster than the others read it again.
      const output = await compactor.end();
      const states = (await Promise.all(writers.map((writer) => writer.end()))).map((lines) =>
        Number(lines[0]),
      );
      expect(new Set(output)).toEqual(new Set(['exchanged']));

      const last = ['a', 'b'].flatMap((name, which) =>
        Array.from({ length: rows }, (_, n) => [`${name}-${n}`, states[which]] as const),
      );
      const statesIn = (all: readonly Row[]) =>
        new Map(all.filter(({ id }) => id !== 'compactor').map(({ id, queued }) => [id, queued]));
      expect(statesIn(await readAgain(path))).toEqual(new Map(last));
      await reader.refresh();
      expect(statesIn(reader.list())).toEqual(new Map(last));
      expect(reader.badLines).toBe(0);
      console.log(
        `catalogue: ${output.length} exchanges while two processes put ${states.join(' and ')} states`,
      );
    },
  );
});

/** A process that works until its stdin ends, and its output. */
class ChildProgram {
  readonly lines: string[] = [];
  readonly #child: ChildProcess;
  readonly #closed: Promise<void>;
  #onLine: () => void = () => {};

  constructor(script: string, args: readonly unknown[]) {
    const child = spawn(process.execPath, [join(built, script), JSON.stringify(args)], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    this.#child = child;
    createInterface({ input: child.stdout }).on('line', (line) => {
      this.lines.push(line);
      this.#onLine();
    });
    this.#closed = new Promise((done) => child.on('close', () => done()));
    onTestFinished(() => {
      child.kill('SIGKILL');
    });
  }

  /** Resolves with its next line, or when it has exited. */
  async nextLine(): Promise<void> {
    await Promise.race([new Promise<void>((resolve) => (this.#onLine = resolve)), this.#closed]);
    expect(this.#child.exitCode).toBeNull();
  }

  async end(): Promise<readonly string[]> {
    this.#child.stdin?.end();
    await this.#closed;
    return this.lines;
  }
}
