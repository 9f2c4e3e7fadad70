import type { ChildProcess } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { JsonObject } from '../../../src/base/index.ts';
import { type Script, startSim } from '../../../src/sim/index.ts';
import { start, temporaryDirectory } from '../../cli/polypod.ts';
import type { Line, RpcClient } from './stage.ts';

/** The built program before a model with a script. It is ready, and its first line is taken away. */
export async function stageProgram(script: Script): Promise<{ readonly client: Program }> {
  const sim = await startSim({ script });
  onTestFinished(() => sim.close());
  const home = temporaryDirectory();
  const config = join(home, 'config.yaml');
  writeFileSync(config, `accounts:\n  sim: { wire: anthropic, base_url: "${sim.url}", key: any }\n`, {
    mode: 0o600,
  });
  const model = { account: 'sim', id: 'sim', name: 'Sim', reasoning: true, contextWindow: 100_000 };
  writeFileSync(join(home, 'models.json'), JSON.stringify([model]));
  const client = new Program(['--model', 'sim/sim'], { HOME: home, POLYPOD_CONFIG: config });
  await client.hear(({ type }) => type === 'ready');
  client.lines.splice(0);
  return { client };
}

/** The built program in RPC mode, over real pipes. */
export class Program implements RpcClient {
  readonly child: ChildProcess;
  readonly home: string;
  readonly finished: ReturnType<typeof start>['finished'];
  readonly lines: Line[] = [];
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

  get types(): readonly string[] {
    return this.lines.map(({ type }) => type);
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
      if (this.child.exitCode !== null) {
        const { code, stderr } = await this.finished;
        throw new Error(`the program has ended with ${code}: ${stderr}`);
      }
      await new Promise<void>((resolve) => this.#wake.push(resolve));
    }
  }

  async run(message: string, fields: object = {}): Promise<readonly Line[]> {
    const from = this.lines.length;
    this.send({ type: 'prompt', message, ...fields });
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
