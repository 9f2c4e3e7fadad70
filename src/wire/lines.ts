import { StringDecoder } from 'node:string_decoder';
import { PolypodError } from '../base/index.ts';

/** Converts bytes to complete messages: call `push` for every chunk, and `end` once for the rest. */
export interface FrameReader {
  push(bytes: Uint8Array): string[];
  end(): string[];
  /** Returns the start of the text outside the framing: some servers send a final error unframed. */
  stray(): string;
}

/** Maximum length of a line in characters; longer lines make the stream fail. */
export const MAX_LINE = 64 * 1024 * 1024;

/**
 * Splits bytes into lines ended by LF (a preceding CR is removed), for any chunking: inside a character, inside
 * a line, many lines at once. Blank lines are skipped. `end` returns an unterminated last line.
 */
export function lineReader(maxLine = MAX_LINE): FrameReader {
  const text = new TextPieces(maxLine);
  return {
    push(bytes) {
      const lines: string[] = [];
      const chunk = text.decode(bytes);
      let start = 0;
      for (let newline = chunk.indexOf('\n'); newline >= 0; newline = chunk.indexOf('\n', start)) {
        addLine(lines, text.completeWith(chunk.slice(start, newline)));
        start = newline + 1;
      }
      text.keep(start === 0 ? chunk : chunk.slice(start));
      return lines;
    },
    end() {
      const lines: string[] = [];
      addLine(lines, text.completeWith(text.rest()));
      return lines;
    },
    stray: () => '',
  };
}

function addLine(lines: string[], line: string): void {
  const clean = line.endsWith('\r') ? line.slice(0, -1) : line;
  if (clean !== '') lines.push(clean);
}

/**
 * The unfinished line, as a list of pieces that is joined once. Joining at every chunk would make a line of
 * many megabytes cost quadratic time. Also removes a byte order mark at the start.
 */
export class TextPieces {
  readonly #decoder = new StringDecoder('utf8');
  readonly #maxLine: number;
  #pieces: string[] = [];
  #length = 0;
  #atStart = true;

  constructor(maxLine: number) {
    this.#maxLine = maxLine;
  }

  decode(bytes: Uint8Array): string {
    const text = this.#decoder.write(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
    if (!this.#atStart || text === '') return text;
    this.#atStart = false;
    return text.charCodeAt(0) === BYTE_ORDER_MARK ? text.slice(1) : text;
  }

  keep(piece: string): void {
    if (piece === '') return;
    this.#length += piece.length;
    if (this.#length > this.#maxLine) {
      throw new PolypodError('bad-request', `a line is longer than ${this.#maxLine} characters`);
    }
    this.#pieces.push(piece);
  }

  completeWith(lastPiece: string): string {
    if (this.#pieces.length === 0) return lastPiece;
    this.#pieces.push(lastPiece);
    const line = this.#pieces.join('');
    this.#pieces = [];
    this.#length = 0;
    return line;
  }

  /** Returns what the decoder still holds: an incomplete character. */
  rest(): string {
    return this.#decoder.end();
  }
}

const BYTE_ORDER_MARK = 0xfeff;
