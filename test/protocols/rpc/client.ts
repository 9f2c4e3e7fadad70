import type { JsonObject } from '../../../src/base/index.ts';

export type Line = JsonObject & { readonly type: string };

/** A client of the protocol, however it is connected: writes lines, and stores every line that it receives. */
export class Client {
  readonly lines: Line[] = [];
  /** The numbers of the events, which are removed from the stored lines. */
  readonly numbers: number[] = [];
  readonly #write: (bytes: string | Uint8Array) => void;
  #rest = '';
  #wake: (() => void)[] = [];
  #ids = 0;
  #end: string | undefined;

  constructor(write: (bytes: string | Uint8Array) => void) {
    this.#write = write;
  }

  get types(): readonly string[] {
    return this.lines.map(({ type }) => type);
  }

  /** Sends raw bytes. */
  write(bytes: string | Uint8Array): void {
    this.#write(bytes);
  }

  send(frame: object): void {
    this.write(`${JSON.stringify(frame)}\n`);
  }

  /** Sends a command and waits for its first response. */
  async ask(type: string, fields: object = {}): Promise<Line> {
    const id = `q${(this.#ids += 1)}`;
    this.send({ id, type, ...fields });
    return this.waitFor((line) => line.type === 'response' && line.id === id);
  }

  /** Returns the data of a command that must succeed. */
  async get(type: string, fields: object = {}): Promise<JsonObject> {
    const { success, data, error } = await this.ask(type, fields);
    if (success !== true) throw new Error(`${type} failed: ${String(error)}`);
    return data as JsonObject;
  }

  /** Waits for the first line that matches, past or future, from an index on. */
  async waitFor(matches: (line: Line) => boolean, from = 0): Promise<Line> {
    for (let at = from; ; ) {
      const found = this.lines.slice(at).find(matches);
      if (found !== undefined) return found;
      at = Math.max(at, this.lines.length);
      if (this.#end !== undefined) throw new Error(this.#end);
      await new Promise<void>((resolve) => this.#wake.push(resolve));
    }
  }

  /** Prompts, and returns all lines until the agent is idle. */
  async run(message: string, fields: object = {}): Promise<readonly Line[]> {
    const from = this.lines.length;
    this.send({ type: 'prompt', message, ...fields });
    await this.quiet(from);
    return this.lines.slice(from);
  }

  async quiet(from = 0): Promise<Line> {
    return this.waitFor(({ type }) => type === 'agent_settled', from);
  }

  /** Handles received bytes. */
  protected take(text: string): void {
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) {
      const { seq, ...rest } = JSON.parse(line) as Line & { seq?: number };
      this.lines.push(rest as Line);
      if (seq !== undefined) this.numbers.push(seq);
    }
    this.#ring();
  }

  /** No more output follows. */
  protected over(why: string): void {
    this.#end = why;
    this.#ring();
  }

  #ring(): void {
    for (const wake of this.#wake.splice(0)) wake();
  }
}
