import { isUtf8 } from 'node:buffer';
import { StringDecoder } from 'node:string_decoder';
import { PolypodError } from '../base/index.ts';

/** Converts bytes to complete messages: call `push` for every chunk, and `end` once for the rest. */
export interface FrameReader {
  push(bytes: Uint8Array): string[];
  end(): string[];
  /** Returns the start of the text outside the framing: some servers send a final error unframed. */
  stray?(): string;
}

/** Why a line cannot be returned. */
type LineProblem = 'too-long' | 'not-utf8';

/** The maximum length of a line. */
type LineLimit = { readonly maxBytes: number } | { readonly maxCharacters: number };

interface LineOptions<Invalid> {
  /** Default: `MAX_LINE` characters. */
  readonly limit?: LineLimit;
  /**
   * What happens to bytes that are not UTF-8: they become U+FFFD (the default), or their line is rejected. A rejecting reader
   * returns a line as it was sent, with its CR, because an error message quotes it.
   */
  readonly utf8?: 'replace' | 'reject';
  /** `any`: a line ends with LF, CRLF or CR, and blank lines are returned, as server-sent events require. Default: LF. */
  readonly ends?: 'lf' | 'any';
  /** Returns what takes the place of a line that is rejected. Without it, `push` throws the error. */
  readonly onInvalid?: (error: PolypodError, problem: LineProblem) => Invalid;
}

type Take<Invalid> = (line: string | Invalid) => void;

/** Maximum length of a line in characters. */
export const MAX_LINE = 64 * 1024 * 1024;

const DEFAULT_LIMIT: LineLimit = { maxCharacters: MAX_LINE };

/**
 * Splits bytes into lines ended by LF (a preceding CR is removed), for any chunking: inside a character, inside a line, many lines
 * at once. Lines of white space are skipped, and so is a byte order mark at the start of the stream. A line that is too long is
 * reported once, without waiting for its end, and skipped up to its end.
 *
 * The complete lines of a chunk are decoded together, because decoding each one costs more than splitting the text. Only an
 * unfinished line is kept: its chunks must not be changed afterwards.
 */
export class LineReader<Invalid = never> {
  readonly #max: number;
  readonly #countsCharacters: boolean;
  readonly #rejects: boolean;
  readonly #endsAtCr: boolean;
  readonly #onInvalid: (error: PolypodError, problem: LineProblem) => Invalid;
  /** The line whose end has not been received. */
  readonly #unfinished = new UnfinishedLine();
  #isSkipping = false;
  #isAtStart = true;
  /** Whether the last byte was a CR that ended a line: an LF after it does not end another. */
  #isAfterCr = false;

  constructor({ limit = DEFAULT_LIMIT, utf8, ends, onInvalid }: LineOptions<Invalid> = {}) {
    this.#countsCharacters = 'maxCharacters' in limit;
    this.#max = 'maxCharacters' in limit ? limit.maxCharacters : limit.maxBytes;
    this.#rejects = utf8 === 'reject';
    this.#endsAtCr = ends === 'any';
    this.#onInvalid = onInvalid ?? throwInvalid;
  }

  /** Returns the lines that these bytes complete. */
  push(bytes: Uint8Array): (string | Invalid)[] {
    const lines: (string | Invalid)[] = [];
    this.read(bytes, (line) => lines.push(line));
    return lines;
  }

  /** Like `push`, for callers that keep only parts of the lines: creating a list of all of them would make them a fifth slower. */
  read(bytes: Uint8Array, take: Take<Invalid>): void {
    const chunk = bufferOf(bytes);
    let start = this.#isAfterCr && chunk[0] === LF ? 1 : 0;
    const hasCr = this.#endsAtCr && chunk.includes(CR);
    const end = Math.max(chunk.lastIndexOf(LF), hasCr ? chunk.lastIndexOf(CR) : -1);
    if (chunk.length > 0) this.#isAfterCr = hasCr && end === chunk.length - 1 && chunk[end] === CR;
    // A line that began in an earlier chunk, or that may be too long, is completed on its own.
    while (start <= end && (this.#isInLine || chunk.length > this.#max)) {
      const lineEnd = nextEnd(chunk, start, hasCr);
      this.#buffer(chunk, start, lineEnd, take);
      this.#complete(take);
      start = chunk[lineEnd] === CR && chunk[lineEnd + 1] === LF ? lineEnd + 2 : lineEnd + 1;
    }
    if (start <= end) {
      const isCrLf = hasCr && end > start && chunk[end] === LF && chunk[end - 1] === CR;
      this.#decodeAll(chunk, start, isCrLf ? end - 1 : end, hasCr, take);
      start = end + 1;
    }
    this.#buffer(chunk, start, chunk.length, take);
  }

  /** Returns the last line if it has no line end. */
  end(): (string | Invalid)[] {
    const lines: (string | Invalid)[] = [];
    if (this.#isInLine) this.#complete((line) => lines.push(line));
    return lines;
  }

  /**
   * Returns the first line that these bytes complete, which may be blank, and the bytes after it, which another reader can take;
   * undefined if they complete none.
   */
  cut(bytes: Uint8Array): { readonly line: string | Invalid; readonly rest: Uint8Array } | undefined {
    const chunk = bufferOf(bytes);
    const end = chunk.indexOf(LF);
    const rest = end < 0 ? NOTHING : chunk.subarray(end + 1);
    let first: { readonly line: string | Invalid; readonly rest: Uint8Array } | undefined;
    const take: Take<Invalid> = (line) => {
      first ??= { line, rest };
    };
    this.#buffer(chunk, 0, end < 0 ? chunk.length : end, take);
    if (end >= 0) this.#complete(take);
    return first ?? (end < 0 ? undefined : { line: '', rest });
  }

  get #isInLine(): boolean {
    return this.#isSkipping || this.#unfinished.length > 0;
  }

  #buffer(chunk: Buffer, start: number, end: number, take: Take<Invalid>): void {
    if (this.#isSkipping || start >= end) return;
    this.#unfinished.append(chunk, start, end);
    if (this.#unfinished.length <= this.#max) return;
    // A character has at least one byte, so characters are counted only in lines that have too many bytes.
    if (this.#countsCharacters && this.#unfinished.characters() <= this.#max) return;
    this.#unfinished.clear();
    this.#isSkipping = true;
    const unit = this.#countsCharacters ? 'characters' : 'bytes';
    const error = new PolypodError('bad-request', `a line is longer than ${this.#max} ${unit}`);
    take(this.#onInvalid(error, 'too-long'));
  }

  #complete(take: Take<Invalid>): void {
    if (!this.#isSkipping) this.#decodeOne(this.#unfinished.joined(), 0, this.#unfinished.length, take);
    this.#isSkipping = false;
    this.#unfinished.clear();
  }

  /** Decodes complete lines; the last one without its end. */
  #decodeAll(chunk: Buffer, from: number, to: number, hasCr: boolean, take: Take<Invalid>): void {
    if (this.#rejects && !isUtf8(chunk.subarray(from, to))) {
      for (let start = from, end = 0; start <= to; start = end + 1) {
        end = Math.min(nextEnd(chunk, start, false), to);
        this.#decodeOne(chunk, start, end, take);
      }
      return;
    }
    const text = this.#withoutMark(chunk.toString('utf8', from, to));
    let start = 0;
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', start)) {
      const isCrLf = hasCr && end > start && text.charCodeAt(end - 1) === CR;
      this.#addAll(text.slice(start, isCrLf ? end - 1 : end), hasCr, take);
      start = end + 1;
    }
    this.#addAll(start === 0 ? text : text.slice(start), hasCr, take);
  }

  #decodeOne(bytes: Buffer, from: number, to: number, take: Take<Invalid>): void {
    if (this.#rejects && !isUtf8(bytes.subarray(from, to)))
      take(this.#onInvalid(new PolypodError('bad-request', 'a line is not UTF-8'), 'not-utf8'));
    else this.#add(this.#withoutMark(bytes.toString('utf8', from, to)), take);
  }

  /** Adds a line that ended with LF, and those before it that ended with CR. */
  #addAll(line: string, hasCr: boolean, take: Take<Invalid>): void {
    if (!hasCr || !line.includes('\r')) this.#add(line, take);
    else for (const part of line.split('\r')) this.#add(part, take);
  }

  #add(line: string, take: Take<Invalid>): void {
    if (this.#endsAtCr) {
      take(line);
      return;
    }
    const first = line.charCodeAt(0);
    // Most lines start with a visible ASCII character: only others can be blank.
    if (!(first > SPACE && first < DELETE) && line.trim() === '') return;
    if (!this.#rejects) take(line.charCodeAt(line.length - 1) === CR ? line.slice(0, -1) : line);
    else take(first === BYTE_ORDER_MARK ? line.slice(1) : line);
  }

  #withoutMark(text: string): string {
    if (!this.#isAtStart || this.#rejects) return text;
    this.#isAtStart = false;
    return text.charCodeAt(0) === BYTE_ORDER_MARK ? text.slice(1) : text;
  }
}

/**
 * The pieces of a line, joined once: joining them at every chunk would make a line of many megabytes cost quadratic time. Small
 * pieces are copied together, so that a line of one-byte pieces takes no more memory than one large piece.
 */
class UnfinishedLine {
  #pieces: Buffer[] = [];
  #small = Buffer.allocUnsafeSlow(INITIAL);
  #smallLength = 0;
  #length = 0;
  #characters: CharacterCount | undefined;

  get length(): number {
    return this.#length;
  }

  append(chunk: Buffer, start: number, end: number): void {
    const length = end - start;
    this.#length += length;
    this.#characters?.add(chunk.subarray(start, end));
    if (length >= LARGE) {
      this.#collectSmall();
      this.#pieces.push(chunk.subarray(start, end));
      return;
    }
    if (this.#smallLength + length > this.#small.length) this.#makeRoom(length);
    chunk.copy(this.#small, this.#smallLength, start, end);
    this.#smallLength += length;
  }

  /** The line is in the first bytes of the buffer, until the next call of `append`. */
  joined(): Buffer {
    if (this.#pieces.length === 0) return this.#small;
    this.#collectSmall();
    return Buffer.concat(this.#pieces);
  }

  /** The number of characters. The first call decodes the line, and from then on each piece is counted once. */
  characters(): number {
    if (this.#characters === undefined) {
      this.#characters = new CharacterCount();
      for (const piece of [...this.#pieces, this.#small.subarray(0, this.#smallLength)])
        this.#characters.add(piece);
    }
    return this.#characters.total;
  }

  clear(): void {
    // The memory of a long line is released while the stream is idle.
    if (this.#small.length > LARGE) this.#small = Buffer.allocUnsafeSlow(INITIAL);
    if (this.#pieces.length > 0) this.#pieces = [];
    this.#smallLength = 0;
    this.#length = 0;
    this.#characters = undefined;
  }

  #makeRoom(more: number): void {
    const roomy = Buffer.allocUnsafeSlow((this.#smallLength + more) * 2);
    this.#small.copy(roomy, 0, 0, this.#smallLength);
    this.#small = roomy;
  }

  #collectSmall(): void {
    if (this.#smallLength === 0) return;
    this.#pieces.push(Buffer.from(this.#small.subarray(0, this.#smallLength)));
    this.#smallLength = 0;
  }
}

class CharacterCount {
  readonly #decoder = new StringDecoder('utf8');
  total = 0;

  add(piece: Buffer): void {
    this.total += this.#decoder.write(piece).length;
  }
}

/** Pieces of this size are not copied. */
const LARGE = 4096;
const INITIAL = 256;

function throwInvalid(error: PolypodError): never {
  throw error;
}

/** The next line end; the end of the bytes if there is none. */
function nextEnd(bytes: Buffer, start: number, hasCr: boolean): number {
  const lf = bytes.indexOf(LF, start);
  const cr = hasCr ? bytes.indexOf(CR, start) : -1;
  if (lf < 0 && cr < 0) return bytes.length;
  return lf < 0 || (cr >= 0 && cr < lf) ? cr : lf;
}

function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

const NOTHING = new Uint8Array();
const LF = 10;
const CR = 13;
const SPACE = 32;
const DELETE = 127;
const BYTE_ORDER_MARK = 0xfeff;
