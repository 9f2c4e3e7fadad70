import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, onTestFinished } from 'vitest';
import { compiled } from '../../compiled.ts';
import type { ServerOptions, Ready } from './serving-child.ts';

/** The program that serves a pod, bundled as JavaScript, because it runs in a separate process. */
export function compiledServer(): string {
  const { directory, remove } = compiled('test/protocols/pod/serving-child.ts');
  afterAll(remove);
  return join(directory, 'test/protocols/pod/serving-child.js');
}

/** A process that serves a pod. */
export class Served {
  readonly ready: Ready;
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;

  static async start(program: string, options: ServerOptions): Promise<Served> {
    const child = spawn(process.execPath, ['--expose-gc', program, JSON.stringify(options)], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    onTestFinished(() => {
      child.kill('SIGKILL');
    });
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const first = await lines.next();
    if (first.done === true) throw new Error('the process ended before it served');
    return new Served(child, lines, JSON.parse(first.value) as Ready);
  }

  private constructor(child: ChildProcess, lines: AsyncIterator<string>, ready: Ready) {
    this.#child = child;
    this.#lines = lines;
    this.ready = ready;
  }

  get isAlive(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Bytes of live objects and buffers, after a full collection. */
  async memory(): Promise<number> {
    this.#child.stdin?.write('memory\n');
    return Number((await this.#lines.next()).value);
  }

  async kill(): Promise<void> {
    const gone = new Promise<void>((done) => this.#child.once('exit', () => done()));
    this.#child.kill('SIGKILL');
    await gone;
  }

  /** Resolves with its exit code when it has exited by itself. */
  async end(): Promise<number | null> {
    const gone = new Promise<number | null>((done) => this.#child.once('exit', done));
    this.#child.stdin?.end();
    return gone;
  }
}
