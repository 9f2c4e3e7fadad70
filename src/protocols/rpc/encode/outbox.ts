import type { Writable } from 'node:stream';
import { encodeFrame } from './encoded-json.ts';
import type { RpcEvent, RpcResponse } from '../wire.ts';

const MOST_BACKLOG = 8 * 1024 * 1024;

/** The output to one client, one JSON object per line. */
export class Outbox {
  readonly #stream: Writable;
  #isFull = false;
  #isOver = false;
  #waiting: (() => void)[] = [];

  constructor(stream: Writable) {
    this.#stream = stream;
    stream.on('drain', () => this.#resume());
    stream.on('close', () => this.close());
    // The client has disconnected: its input ends too, and the link handles that.
    stream.on('error', () => this.close());
  }

  /** Whether the client has read everything that was written. */
  get isDrained(): boolean {
    return !this.#isFull;
  }

  /** Whether so much is unread that the client's next commands must wait. */
  get isOverfull(): boolean {
    return !this.#isOver && this.#stream.writableLength > MOST_BACKLOG;
  }

  send(frame: (RpcEvent & { readonly seq?: number }) | RpcResponse): void {
    this.write(encodeFrame(frame));
  }

  write(line: string): void {
    if (this.#isOver) return;
    if (!this.#stream.write(`${line}\n`)) this.#isFull = true;
  }

  /** Collects the output until it is released, and then writes it at once. */
  hold(): () => void {
    this.#stream.cork();
    return () => this.#stream.uncork();
  }

  /** Resolves when the client has read the output or has disconnected. */
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
