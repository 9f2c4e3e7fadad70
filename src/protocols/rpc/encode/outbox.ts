import type { Writable } from 'node:stream';
import { encodeFrame } from './encoded-json.ts';
import type { RpcEvent, RpcResponse } from '../wire.ts';

const MOST_BACKLOG = 8 * 1024 * 1024;

/** All that is written to one client, one JSON object to a line. */
export class Outbox {
  readonly #stream: Writable;
  #isFull = false;
  #isOver = false;
  #waiting: (() => void)[] = [];

  constructor(stream: Writable) {
    this.#stream = stream;
    stream.on('drain', () => this.#resume());
    stream.on('close', () => this.close());
    // The client has gone: its input ends too, and that is what the link waits for.
    stream.on('error', () => this.close());
  }

  /** Whether the client has taken what was written so far. */
  get isDrained(): boolean {
    return !this.#isFull;
  }

  /** Whether the client has left so much that nothing more should be done for it until it reads. */
  get isOverfull(): boolean {
    return !this.#isOver && this.#stream.writableLength > MOST_BACKLOG;
  }

  say(frame: (RpcEvent & { readonly seq?: number }) | RpcResponse): void {
    this.write(encodeFrame(frame));
  }

  write(line: string): void {
    if (this.#isOver) return;
    if (!this.#stream.write(`${line}\n`)) this.#isFull = true;
  }

  /** Whatever is written until it is let go leaves together. */
  hold(): () => void {
    this.#stream.cork();
    return () => this.#stream.uncork();
  }

  /** Resolves when the client has taken what was written, or is gone. */
  drained(): Promise<void> {
    if (!this.#isFull || this.#isOver) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  close(): void {
    this.#isOver = true;
    this.#resume();
  }

  #resume(): void {
    this.#isFull = false;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }
}
