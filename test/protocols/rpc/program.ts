import type { ChildProcess } from 'node:child_process';
import { onTestFinished } from 'vitest';
import type { JsonObject } from '../../../src/base/index.ts';
import { start, temporaryDirectory } from '../../cli/polypod.ts';
import type { Line } from './stage.ts';

/** The built program in RPC mode, over real pipes. */
export class Program {
  readonly child: ChildProcess;
  readonly home: string;
  readonly finished: ReturnType<typeof start>['finished'];
  readonly lines: Line[] = [];
  /** The numbers of the events, which the lines are kept without. */
  readonly numbers: number[] = [];
  #rest = '';
  #wake: (() => void)[] = [];
  #ids = 0;

  constructor(args: readonly string[] = [], env: Readonly<Record<string, string>> = {}) {
    this.home = env.HOME ?? temporaryDirectory();
    const running = start(['--mode', 'rpc', ...args], { ...env, HOME: this.home });
    this.child = running.child;
    this.finished = running.finished;
    running.child.stdout.on('data', (text: string) => this.#take(text));
    running.child.stdin.on('error', () => {});
    void running.finished.then(() => this.#ring());
    onTestFinished(() => void running.child.stdin.end());
  }

  write(text: string): void {
    this.child.stdin?.write(text);
  }

  send(frame: object): void {
    this.write(`${JSON.stringify(frame)}\n`);
  }

  async ask(type: string, fields: object = {}): Promise<Line> {
    const id = `q${(this.#ids += 1)}`;
    this.send({ id, type, ...fields });
    return this.hear((line) => line.type === 'response' && line.id === id);
  }

  async get(type: string, fields: object = {}): Promise<JsonObject> {
    const { success, data, error } = await this.ask(type, fields);
    if (success !== true) throw new Error(`${type} failed: ${String(error)}`);
    return data as JsonObject;
  }

  async hear(fits: (line: Line) => boolean, from = 0): Promise<Line> {
    for (;;) {
      const heard = this.lines.slice(from).find(fits);
      if (heard !== undefined) return heard;
      if (this.child.exitCode !== null) throw new Error(`the program has ended with ${this.child.exitCode}`);
      await new Promise<void>((resolve) => this.#wake.push(resolve));
    }
  }

  async run(message: string): Promise<readonly Line[]> {
    const from = this.lines.length;
    this.send({ type: 'prompt', message });
    await this.hear(({ type }) => type === 'agent_settled', from);
    return this.lines.slice(from);
  }

  /** Closes its input. */
  async end() {
    this.child.stdin?.end();
    return this.finished;
  }

  #take(text: string): void {
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) {
      const { seq, ...rest } = JSON.parse(line) as Line & { seq?: number };
      this.lines.push(rest as Line);
      if (seq !== undefined) this.numbers.push(seq);
    }
    this.#ring();
  }

  #ring(): void {
    for (const wake of this.#wake.splice(0)) wake();
  }
}
