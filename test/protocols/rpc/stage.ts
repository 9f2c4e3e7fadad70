import { PassThrough } from 'node:stream';
import { onTestFinished } from 'vitest';
import type { JsonObject } from '../../../src/base/index.ts';
import type { Agent, Host } from '../../../src/pod/index.ts';
import { type RpcParts, serveRpc } from '../../../src/protocols/index.ts';
import { NO_EXTENSIONS } from '../../../src/protocols/rpc/parts.ts';
import type { Script } from '../../../src/sim/index.ts';
import type { Tool } from '../../../src/tools/index.ts';
import { MODEL, stage as podStage } from '../../pod/stage.ts';

export interface RpcStage {
  readonly host: Host;
  readonly cwd: string;
  readonly client: Client;
}

export interface StageOptions {
  readonly tools?: readonly Tool[];
  readonly agent?: Partial<Omit<Agent, 'tools'>>;
  readonly parts?: Partial<RpcParts>;
}

/** A client before a pod whose model is the simulator: the door as it is, over two streams. */
export async function stage(
  script: Script,
  { tools = [], agent = {}, parts = {} }: StageOptions = {},
): Promise<RpcStage> {
  const rules = [{ tool: 'bash', action: 'auto' }] as const;
  const { host, cwd } = await podStage(script, { tools, agent: { rules, ...agent } });
  const client = new Client();
  const over = serveRpc(
    client.streams,
    {
      host,
      sessions: { cwd, inMemory: false },
      first: () => host.create({ cwd, lazy: true }),
      models: async () => [OFFERED, { ...OFFERED, id: 'other', name: 'Other', reasoning: false }],
      isScoped: false,
      toolNames: async () => ['bash', 'read'],
      extensions: NO_EXTENSIONS,
      rules: [],
      version: '1.2.3',
      by: 'ada',
      echoErrors: false,
      clearTodosAfterMs: 60_000,
      now: () => 1_700_000_000_000,
      ...parts,
    },
    client.signal,
  );
  client.over = over;
  onTestFinished(async () => {
    client.close();
    await over;
  });
  return { host, cwd, client };
}

export const OFFERED = {
  provider: MODEL.account,
  id: MODEL.id,
  name: 'Sim',
  wire: 'anthropic',
  baseUrl: 'http://127.0.0.1',
  reasoning: true,
  input: ['text'],
  contextWindow: 100_000,
} as const;

export type Line = JsonObject & { readonly type: string };

/** A client of the protocol, however it is connected. */
export interface RpcClient {
  readonly lines: readonly Line[];
  /** The numbers of the events, which the lines are kept without. */
  readonly numbers: readonly number[];
  readonly types: readonly string[];
  write(text: string): void;
  send(frame: object): void;
  ask(type: string, fields?: object): Promise<Line>;
  get(type: string, fields?: object): Promise<JsonObject>;
  hear(fits: (line: Line) => boolean, from?: number): Promise<Line>;
  run(message: string, fields?: object): Promise<readonly Line[]>;
}

/** Writes lines and keeps every line that comes back. */
export class Client implements RpcClient {
  readonly lines: Line[] = [];
  readonly numbers: number[] = [];
  over: Promise<void> = Promise.resolve();
  readonly #input = new PassThrough();
  readonly #output = new PassThrough();
  readonly #stop = new AbortController();
  #rest = '';
  #wake: (() => void)[] = [];
  #ids = 0;

  constructor() {
    this.#output.setEncoding('utf8').on('data', (text: string) => this.#take(text));
  }

  get streams() {
    return { input: this.#input, output: this.#output };
  }

  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  get types(): readonly string[] {
    return this.lines.map(({ type }) => type);
  }

  /** As the client's bytes. */
  write(text: string | Uint8Array): void {
    this.#input.write(text);
  }

  send(frame: object): void {
    this.write(`${JSON.stringify(frame)}\n`);
  }

  /** Sends a command and waits for its first response. */
  async ask(type: string, fields: object = {}): Promise<Line> {
    const id = `q${(this.#ids += 1)}`;
    this.send({ id, type, ...fields });
    return this.hear((line) => line.type === 'response' && line.id === id);
  }

  /** The data of a command that must succeed. */
  async get(type: string, fields: object = {}): Promise<JsonObject> {
    const { success, data, error } = await this.ask(type, fields);
    if (success !== true) throw new Error(`${type} failed: ${String(error)}`);
    return data as JsonObject;
  }

  /** The first line that fits, past or future, from a position on. */
  async hear(fits: (line: Line) => boolean, from = 0): Promise<Line> {
    for (;;) {
      const heard = this.lines.slice(from).find(fits);
      if (heard !== undefined) return heard;
      await new Promise<void>((resolve) => this.#wake.push(resolve));
    }
  }

  /** Prompts, and gives all lines until the agent is quiet. */
  async run(message: string, fields: object = {}): Promise<readonly Line[]> {
    const from = this.lines.length;
    this.send({ type: 'prompt', message, ...fields });
    await this.hear(({ type }) => type === 'agent_settled', from);
    return this.lines.slice(from);
  }

  /** Bytes that wait for it. */
  get unread(): number {
    return this.#output.readableLength + this.#output.writableLength;
  }

  pause(): void {
    this.#output.pause();
  }

  resume(): void {
    this.#output.resume();
  }

  end(): void {
    this.#input.end();
  }

  close(): void {
    this.#stop.abort();
  }

  #take(text: string): void {
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) {
      const { seq, ...rest } = JSON.parse(line) as Line & { seq?: number };
      this.lines.push(rest as Line);
      if (seq !== undefined) this.numbers.push(seq);
    }
    for (const wake of this.#wake.splice(0)) wake();
  }
}
