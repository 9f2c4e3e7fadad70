import { once } from 'node:events';
import { connect } from 'node:net';
import type { Readable, Writable } from 'node:stream';
import { objectOf } from '../../src/base/index.ts';
import { PATIENCE_MS } from './within-time.ts';

export type JsonLine = { readonly [key: string]: unknown };

/** A connection that exchanges lines of JSON. An incomplete line is ignored. */
export class LineLink {
  readonly received: JsonLine[] = [];
  isClosed = false;
  /** Called for every line, before waiting callers receive it. */
  onLine: (line: JsonLine) => void = () => {};
  readonly #input: Readable;
  readonly #output: Writable;
  readonly #end: () => void;
  readonly #waiting = new Set<() => void>();
  #rest = '';

  constructor(input: Readable, output: Writable, end: () => void) {
    [this.#input, this.#output, this.#end] = [input, output, end];
    for (const stream of new Set<Readable | Writable>([input, output])) stream.on('error', () => {});
    input.setEncoding('utf8');
    input.on('data', (text: string) => this.#take(text));
    input.on('close', () => {
      this.isClosed = true;
      this.#wake();
    });
  }

  send(line: object): void {
    this.sendText(`${JSON.stringify(line)}\n`);
  }

  sendText(text: string): void {
    if (!this.isClosed && this.#output.writable) this.#output.write(text);
  }

  /** The first matching line from here on. Throws if the connection ends without it, or after the timeout. */
  async next(matches: (line: JsonLine) => boolean, from?: number): Promise<JsonLine> {
    let at = from ?? this.#taken;
    const deadline = Date.now() + PATIENCE_MS;
    for (;;) {
      for (; at < this.received.length; at += 1) {
        const line = this.received[at];
        if (line === undefined || !matches(line)) continue;
        if (from === undefined) this.#taken = at + 1;
        return line;
      }
      if (this.isClosed) throw new Error('the connection was closed');
      const left = deadline - Date.now();
      if (left <= 0) throw new Error(`no answer; the last lines: ${this.tail()}`);
      await new Promise<void>((resolve) => {
        const done = (): void => {
          clearTimeout(timer);
          this.#waiting.delete(done);
          resolve();
        };
        const timer = setTimeout(done, left);
        this.#waiting.add(done);
      });
    }
  }

  tail(): string {
    return JSON.stringify(this.received.slice(-5)).slice(0, 2_000);
  }

  /** Stops reading: sent data stays in the buffers. */
  pause(): void {
    this.#input.pause();
  }

  resume(): void {
    this.#input.resume();
  }

  close(): void {
    this.#end();
  }

  #taken = 0;

  #take(text: string): void {
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) {
      if (line === '') continue;
      const value = objectOf(JSON.parse(line));
      this.received.push(value);
      this.onLine(value);
    }
    this.#wake();
  }

  #wake(): void {
    for (const wake of this.#waiting) wake();
  }
}

export async function connectLines(path: string): Promise<LineLink> {
  const socket = connect({ path });
  await once(socket, 'connect');
  return new LineLink(socket, socket, () => void socket.destroy());
}
