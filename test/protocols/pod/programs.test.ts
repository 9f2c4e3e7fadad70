import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { createInterface } from 'node:readline';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { SimAnswer } from '../../../src/sim/index.ts';
import { type Line, podFixture } from './fixture.ts';

const PROGRAMS = [
  { name: 'nc', args: (path: string) => ['-U', path], scripted: (path: string) => ['-N', '-U', path] },
  {
    name: 'socat',
    args: (path: string) => ['-', `UNIX-CONNECT:${path}`],
    scripted: (path: string) => ['-t', '20', '-', `UNIX-CONNECT:${path}`],
  },
];

const ANSWERS: readonly SimAnswer[] = [
  {
    parts: [{ text: 'It all began with a word.' }],
    pace: { chunkSize: 5 },
    fault: { kind: 'stall', after: 2 },
  },
  { parts: [{ text: 'Hello.' }] },
];

for (const { name, args, scripted } of PROGRAMS) {
  const isThere = spawnSync(name, ['-h']).error === undefined;
  describe(`with ${name}`, () => {
    it.skipIf(!isThere)(
      'one client prompts, three receive, another cancels and requests the history',
      async () => {
        const fixture = await podFixture(ANSWERS);
        const listeners = Array.from({ length: 3 }, () => new Program(name, args(fixture.path)));
        const [driver] = listeners;
        // A client that has an answer is subscribed.
        for (const { input } of listeners) input.write('{"method":"get_status","request_id":1}\n');
        await Promise.all(listeners.map((listener) => listener.waitFor((lines) => lines.length === 1)));
        driver?.input.write('{"method":"run","params":{"input":"Tell me everything."}}\n');
        const deltas = (lines: readonly Line[]) => lines.filter(({ event }) => event === 'text_delta').length;
        await Promise.all(listeners.map((listener) => listener.waitFor((lines) => deltas(lines) === 2)));
        const other = new Program(name, args(fixture.path));
        other.input.write('{"method":"cancel"}\n{"method":"get_history"}\n');
        await Promise.all(listeners.map((listener) => listener.waitFor(isCancelled)));
        const seen = listeners.map(({ lines }) => lines.slice(1));
        expect(seen[0]?.map(({ event }) => event)).toEqual(
          expect.arrayContaining(['turn_start', 'text_delta', 'turn_end', 'history']),
        );
        expect(seen[1]).toEqual(seen[0]);
        expect(seen[2]).toEqual(seen[0]);
      },
    );

    it.skipIf(!isThere)('a script receives its whole run and then exits', async () => {
      const fixture = await podFixture(ANSWERS.slice(1));
      const script = new Program(name, scripted(fixture.path));
      script.input.end('{"method":"run","params":{"input":"Hello?"}}\n');
      expect(await script.exited).toBe(0);
      expect(script.lines.map(({ event }) => event)).toEqual([
        ...['status', 'turn_start', 'text_delta', 'text_done', 'usage', 'turn_end', 'status'],
      ]);
    });
  });
}

function isCancelled(lines: readonly Line[]): boolean {
  return (
    lines.some(({ event }) => event === 'history') &&
    lines.slice(1).some((line) => line.event === 'status' && line.data.state === 'idle')
  );
}

/** A program that is connected to a socket, controlled by its standard streams. */
class Program {
  readonly lines: Line[] = [];
  readonly exited: Promise<number | null>;
  readonly #child: ChildProcess;
  #wake = (): void => {};

  constructor(name: string, args: readonly string[]) {
    const child = spawn(name, args, { stdio: ['pipe', 'pipe', 'inherit'] });
    this.#child = child;
    onTestFinished(() => {
      child.kill('SIGKILL');
    });
    this.exited = new Promise((resolve) => child.once('close', resolve));
    createInterface({ input: child.stdout }).on('line', (line) => {
      this.lines.push(JSON.parse(line) as Line);
      this.#wake();
    });
  }

  get input(): NonNullable<ChildProcess['stdin']> {
    const { stdin } = this.#child;
    if (stdin === null) throw new Error('it has no input');
    return stdin;
  }

  async waitFor(holds: (lines: readonly Line[]) => boolean): Promise<void> {
    while (!holds(this.lines))
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
  }
}
