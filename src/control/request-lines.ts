import type { Socket } from 'node:net';
import { LineReader } from '../wire/index.ts';

/** Far more than a prompt with images needs. */
const LONGEST_LINE = 64 * 1024 * 1024;
/** The bytes that a client may send before it reads its answers. */
const MOST_AHEAD = 1024 * 1024;

/**
 * The lines of a connection, one at a time. After any line, another reader can take over the socket. Bytes are received also
 * while a line is being answered, because otherwise the end of the client would not be noticed.
 */
export class RequestLines {
  readonly #socket: Socket;
  readonly #lines = new LineReader({ limit: { maxBytes: LONGEST_LINE } });
  /** The chunks that have been received, from `#at` on not yet read. */
  #chunks: Uint8Array[] = [];
  #at = 0;
  #unreadBytes = 0;
  #isOver = false;
  #wake: (() => void) | undefined;

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', this.#take);
    socket.on('end', this.#end);
    socket.on('close', this.#end);
  }

  /** The next line that is not blank; undefined when the client has ended. */
  async next(): Promise<string | undefined> {
    for (;;) {
      const line = this.#cut();
      if (line !== undefined && line !== '') return line;
      if (line !== undefined) continue;
      if (this.#isOver) return undefined;
      this.#socket.resume();
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** Releases the paused socket; returns the bytes after the last line. */
  detach(): Uint8Array {
    this.#socket.pause();
    this.#socket.off('data', this.#take);
    this.#socket.off('end', this.#end);
    this.#socket.off('close', this.#end);
    return Buffer.concat(this.#chunks.slice(this.#at));
  }

  readonly #take = (chunk: Uint8Array): void => {
    this.#chunks.push(chunk);
    this.#unreadBytes += chunk.length;
    if (this.#unreadBytes > MOST_AHEAD) this.#socket.pause();
    this.#wake?.();
  };

  readonly #end = (): void => {
    this.#isOver = true;
    this.#wake?.();
  };

  #cut(): string | undefined {
    for (; this.#at < this.#chunks.length; this.#at += 1) {
      const chunk = this.#chunks[this.#at] ?? NOTHING;
      const cut = this.#lines.cut(chunk);
      this.#unreadBytes -= chunk.length - (cut?.rest.length ?? 0);
      if (cut === undefined) continue;
      this.#chunks[this.#at] = cut.rest;
      return cut.line.trim();
    }
    [this.#chunks, this.#at] = [[], 0];
    return undefined;
  }
}

const NOTHING = new Uint8Array();
