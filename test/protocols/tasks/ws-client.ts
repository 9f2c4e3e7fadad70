import { onTestFinished } from 'vitest';
import { type ClientOptions, WebSocket } from 'ws';
import type { JsonObject } from '../../../src/base/index.ts';

export interface WsMessage {
  readonly event: string;
  readonly data: JsonObject;
  readonly id?: string;
  readonly seq?: number;
  readonly session_id?: string;
  readonly request_id?: string;
}

/** The most widely used WebSocket client, and its received messages. */
export class WsClient {
  readonly socket: WebSocket;
  readonly received: WsMessage[] = [];
  readonly opened: Promise<void>;
  /** Resolves with the close code. */
  readonly closed: Promise<number>;
  readonly #waiting = new Set<() => void>();
  #isOver = false;
  #asked = 0;

  constructor(url: string, protocols: readonly string[], options: ClientOptions = {}) {
    this.socket = new WebSocket(`${url.replace(/^http/, 'ws')}/ws`, [...protocols], options);
    onTestFinished(() => this.socket.terminate());
    this.socket.on('message', (bytes: Buffer) => {
      this.received.push(JSON.parse(bytes.toString()) as WsMessage);
      this.#wake();
    });
    this.opened = new Promise((resolve, reject) => {
      this.socket.on('open', () => resolve());
      this.socket.on('error', reject);
    });
    this.opened.catch(() => {});
    this.closed = new Promise((resolve) => {
      this.socket.on('close', (code: number) => {
        this.#isOver = true;
        resolve(code);
        this.#wake();
      });
    });
  }

  /** Sends a message and waits for its response. */
  async ask(method: string, params: JsonObject = {}): Promise<WsMessage> {
    this.#asked += 1;
    const id = `r${this.#asked}`;
    this.socket.send(JSON.stringify({ method, params, request_id: id }));
    return this.waitFor((line) => line.request_id === id);
  }

  async waitFor(matches: (line: WsMessage) => boolean): Promise<WsMessage> {
    for (;;) {
      const found = this.received.find(matches);
      if (found !== undefined) return found;
      if (this.#isOver)
        throw new Error(`closed; received ${this.received.map(({ event }) => event).join(' ')}`);
      await new Promise<void>((resolve) => this.#waiting.add(resolve));
    }
  }

  #wake(): void {
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }
}
