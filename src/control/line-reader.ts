import type { Socket } from 'node:net';
import { PolypodError } from '../base/index.ts';

/** Far more than a prompt with images needs. */
const LONGEST_LINE = 64 * 1024 * 1024;
/** The bytes that a client may send before it reads its answers. */
const MOST_AHEAD = 1024 * 1024;
const NEWLINE = 10;

/** Reads the lines of a connection one at a time. After any line, another reader can take over the socket. */
export class LineReader {
  readonly #socket: Socket;
  #pieces: Uint8Array[] = [];
  #length = 0;
  #hasLine = false;
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
      if (this.#hasLine) {
        const line = this.#cut();
        if (line !== '') return line;
      } else if (this.#length > LONGEST_LINE) {
        throw new PolypodError('bad-request', `a line can have at most ${LONGEST_LINE} bytes`);
      } else if (this.#isOver) {
        return undefined;
      } else {
        this.#socket.resume();
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    }
  }

  /** Releases the paused socket; returns the bytes after the last line. */
  detach(): Uint8Array {
    this.#socket.pause();
    this.#socket.off('data', this.#take);
    this.#socket.off('end', this.#end);
    this.#socket.off('close', this.#end);
    return joined(this.#pieces);
  }

  readonly #take = (chunk: Uint8Array): void => {
    this.#pieces.push(chunk);
    this.#length += chunk.length;
    this.#hasLine ||= chunk.includes(NEWLINE);
    if (this.#hasLine && this.#length > MOST_AHEAD) this.#socket.pause();
    if (this.#hasLine || this.#length > LONGEST_LINE) this.#wake?.();
  };

  readonly #end = (): void => {
    this.#isOver = true;
    this.#wake?.();
  };

  #cut(): string {
    const bytes = joined(this.#pieces);
    const end = bytes.indexOf(NEWLINE);
    const rest = bytes.subarray(end + 1);
    [this.#pieces, this.#length, this.#hasLine] = [[rest], rest.length, rest.includes(NEWLINE)];
    return Buffer.from(bytes.buffer, bytes.byteOffset, end).toString('utf8').trim();
  }
}

function joined(pieces: readonly Uint8Array[]): Uint8Array {
  const [only] = pieces;
  return pieces.length === 1 && only !== undefined ? only : Buffer.concat(pieces);
}
