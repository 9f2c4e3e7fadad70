import { StringDecoder } from 'node:string_decoder';
import { PolypodError } from '../base/index.ts';

/** Bytes in, whole messages out: `push` for every piece that arrives, `end` once for what is left. */
export interface FrameReader {
  push(bytes: Uint8Array): string[];
  end(): string[];
  /** Text that stood outside the framing, its beginning at least: a server's last words are sometimes not framed. */
  stray(): string;
}

/** One line may not grow without limit: past this many characters the stream is refused. */
export const MAX_LINE = 64 * 1024 * 1024;

/**
 * Cuts bytes into lines ended by LF (a CR before it is dropped), whatever the chunking: inside a character, inside a
 * line, many lines at once. Blank lines are skipped. An unterminated last line comes out at the end.
 */
export function lineReader(maxLine = MAX_LINE): FrameReader {
  const text = new TextPieces(maxLine);
  return {
    push(bytes) {
      const lines: string[] = [];
      const chunk = text.decode(bytes);
      let from = 0;
      for (let at = chunk.indexOf('\n'); at >= 0; at = chunk.indexOf('\n', from)) {
        addLine(lines, text.completeWith(chunk.slice(from, at)));
        from = at + 1;
      }
      text.keep(from === 0 ? chunk : chunk.slice(from));
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
 * The unfinished line: its pieces are kept in a list and joined once. Joining at every chunk would make a line of
 * many megabytes cost its square. Also drops a byte order mark at the start.
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

  /** What the decoder still holds: bytes of a character that never became whole. */
  rest(): string {
    return this.#decoder.end();
  }
}

const BYTE_ORDER_MARK = 0xfeff;
