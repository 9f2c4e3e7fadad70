import { isObject, type JsonObject, tryParse } from '../base/index.ts';
import { recordIn, verifyLine, withOneByteCorrected } from './line.ts';
import { isUnfinished } from './unfinished.ts';

/** How a record was got out of damaged bytes. */
export type Remedy =
  /** The checksum said which byte was wrong. */
  | 'byte'
  /** It stood whole between other bytes. */
  | 'found'
  /** The text had been converted to another encoding. */
  | 'encoding';

/** A part of damaged bytes, from `from` up to `to`. */
export type Piece =
  | {
      readonly kind: 'record';
      readonly text: string;
      /** Whether the record has a sum, and the sum is right. */
      readonly isSealed: boolean;
      readonly remedy: Remedy;
      readonly from: number;
      readonly to: number;
    }
  /** `unfinished`: what a crash leaves at the end of a log, which was never acknowledged. */
  | { readonly kind: 'lost' | 'unfinished'; readonly from: number; readonly to: number };

type Found = Omit<Extract<Piece, { kind: 'record' }>, 'from' | 'to'>;

export interface SalvageOptions {
  /** Nothing follows on the bytes. */
  readonly isAtEnd: boolean;
  /** Whether an object may be a record of this log: parts of records are objects, too. */
  readonly isRecord: (value: JsonObject) => boolean;
}

/** The records in bytes of which no line is what was written, in order, and what is left between them. */
export function salvage(bytes: Buffer, { isAtEnd, isRecord }: SalvageOptions): readonly Piece[] {
  return new Salvage(isRecord).pieces(bytes, isAtEnd);
}

/** The search for records in damaged bytes. */
class Salvage {
  readonly #isRecord: (value: JsonObject) => boolean;

  constructor(isRecord: (value: JsonObject) => boolean) {
    this.#isRecord = isRecord;
  }

  pieces(bytes: Buffer, isAtEnd: boolean): readonly Piece[] {
    const converted = this.#fromWideEncoding(bytes);
    if (converted !== undefined) return converted;
    const pieces: Piece[] = [];
    const lines = linesIn(bytes);
    for (let index = 0; index < lines.length; index += 1) {
      const [line, next] = [lines[index], lines[index + 1]];
      if (line === undefined) continue;
      const content = bytes.subarray(line.from, line.to);
      if (content.length > MOST_SEARCHED) {
        pieces.push({ kind: 'lost', from: line.from, to: line.end });
        continue;
      }
      const whole = this.#lineRecord(content);
      if (whole !== undefined) {
        pieces.push({ ...whole, from: line.from, to: line.end });
        continue;
      }
      const joined = next && this.#joinedRecord(bytes.subarray(line.from, next.to), line.to - line.from);
      if (next !== undefined && joined !== undefined) {
        pieces.push({ ...joined, from: line.from, to: next.end });
        index += 1;
      } else if (isAtEnd && line.end === line.to && isUnfinished(content))
        pieces.push({ kind: 'unfinished', from: line.from, to: line.to });
      else pieces.push(...this.#within(bytes, line));
    }
    return pieces;
  }

  /** The one record that a line is, or nearly is. */
  #lineRecord(line: Buffer): Found | undefined {
    const trimmed = withoutFilling(line);
    // Also a last line that only lacks its newline.
    const found = this.#recordFrom(trimmed, 'found');
    if (found !== undefined) return found;
    const corrected = withOneByteCorrected(trimmed);
    if (corrected !== undefined) return this.#recordFrom(corrected, 'byte');
    for (const converted of [fromLatin(trimmed), fromTwiceEncoded(trimmed)])
      if (converted !== undefined && verifyLine(converted) === 'ok')
        return this.#recordFrom(converted, 'encoding');
    return undefined;
  }

  /** The record that two lines are together: the newline between them is a damaged byte, or should not be there. */
  #joinedRecord(bytes: Buffer, newlineAt: number): Found | undefined {
    const without = Buffer.concat([bytes.subarray(0, newlineAt), bytes.subarray(newlineAt + 1)]);
    if (verifyLine(without) === 'ok') return this.#recordFrom(without, 'found');
    const corrected = withOneByteCorrected(bytes);
    // A correction elsewhere would leave the newline in the record.
    return corrected?.[newlineAt] === NEWLINE || corrected === undefined
      ? undefined
      : this.#recordFrom(corrected, 'byte');
  }

  /** Records that stand whole in a damaged line, and what is between them. */
  #within(bytes: Buffer, { from, to, end }: Line): readonly Piece[] {
    const pieces: Piece[] = [];
    const text = bytes.toString('latin1', from, to);
    let done = 0;
    for (const { index } of text.matchAll(SEALS)) {
      const sealEnd = index + SEAL_LENGTH;
      const start = this.#sealedStart(bytes, text, { from, done, sealEnd });
      if (start === undefined) continue;
      const found = this.#recordFrom(bytes.subarray(from + start, from + sealEnd), 'found');
      if (found === undefined) continue;
      // One byte between two records is what became of a newline.
      if (start > done + (done > 0 ? 1 : 0))
        pieces.push({ kind: 'lost', from: from + done, to: from + start });
      pieces.push({ ...found, from: from + start, to: from + sealEnd });
      done = sealEnd;
    }
    if (done === 0) {
      const plain = this.#plainRecord(bytes.subarray(from, to));
      if (plain !== undefined) {
        const start = from + plain.start;
        const lost: Piece[] = plain.start > 0 ? [{ kind: 'lost', from, to: start }] : [];
        return [...lost, { ...plain.found, from: start, to: end }];
      }
    }
    if (done === 0 || from + done + 1 < to) pieces.push({ kind: 'lost', from: from + done, to: end });
    return pieces;
  }

  /** Where the record begins that a seal ends. */
  #sealedStart(
    bytes: Buffer,
    text: string,
    { from, done, sealEnd }: { readonly from: number; readonly done: number; readonly sealEnd: number },
  ): number | undefined {
    let start = text.indexOf(OPENING, done);
    for (let attempt = 0; attempt < MOST_STARTS && start !== -1 && start < sealEnd; attempt += 1) {
      if (verifyLine(bytes.subarray(from + start, from + sealEnd)) === 'ok') return start;
      start = text.indexOf(OPENING, start + 1);
    }
    return undefined;
  }

  /** A record of another program, which has no sum, behind the half of one. One of ours with a wrong sum is none. */
  #plainRecord(line: Buffer): { readonly start: number; readonly found: Found } | undefined {
    const text = line.toString('latin1');
    if (SEALED.test(text)) return undefined;
    let start = text.indexOf(OPENING);
    for (let attempt = 0; attempt < MOST_STARTS && start !== -1; attempt += 1) {
      const found = this.#recordFrom(withoutFilling(line.subarray(start)), 'found');
      if (found !== undefined) return { start, found };
      start = text.indexOf(OPENING, start + 1);
    }
    return undefined;
  }

  #recordFrom(line: Uint8Array, remedy: Remedy): Found | undefined {
    const verdict = verifyLine(line);
    if (verdict === 'corrupt') return undefined;
    const text = verdict === 'ok' ? recordIn(line) : Buffer.from(line).toString();
    const value = tryParse(text);
    if (!isObject(value) || !this.#isRecord(value)) return undefined;
    return { kind: 'record', text, isSealed: verdict === 'ok', remedy };
  }

  /** The pieces of a text in UTF-16; undefined if it is none. */
  #fromWideEncoding(bytes: Buffer): readonly Piece[] | undefined {
    const sample = bytes.subarray(0, 256);
    const nuls = sample.filter((byte) => byte === 0).length;
    if (nuls < sample.length / 3 || nuls > sample.length * 0.6) return undefined;
    for (const start of [0, 1]) {
      const even = bytes.subarray(start, start + 2 * Math.floor((bytes.length - start) / 2));
      for (const narrow of [even, Buffer.from(even).swap16()]) {
        const lines = narrow.toString('utf16le').split('\n');
        const found = lines.flatMap(
          (line) => this.#recordFrom(withoutFilling(Buffer.from(line)), 'encoding') ?? [],
        );
        if (found.length > 0)
          return placed(found, lines.filter((line) => line.trim() !== '').length, bytes.length);
      }
    }
    return undefined;
  }
}

interface Line {
  readonly from: number;
  readonly to: number;
  /** With its newline. */
  readonly end: number;
}

function linesIn(bytes: Uint8Array): readonly Line[] {
  const lines: Line[] = [];
  for (let from = 0; from < bytes.length; ) {
    const newline = bytes.indexOf(NEWLINE, from);
    const to = newline === -1 ? bytes.length : newline;
    const end = newline === -1 ? to : to + 1;
    lines.push({ from, to, end });
    from = end;
  }
  return lines;
}

/** Without the NUL bytes, blanks and byte order mark around it. */
function withoutFilling(line: Buffer): Buffer {
  let [start, end] = [0, line.length];
  if (line.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK)) start = BYTE_ORDER_MARK.length;
  while (start < end && isFilling(line[start])) start += 1;
  while (end > start && isFilling(line[end - 1])) end -= 1;
  return line.subarray(start, end);
}

function isFilling(byte: number | undefined): boolean {
  return byte === 0 || byte === 32 || byte === 13 || byte === 9;
}

/** Text that was written as Latin-1, as UTF-8. */
function fromLatin(line: Buffer): Buffer | undefined {
  return hasHighBytes(line) ? Buffer.from(line.toString('latin1')) : undefined;
}

/** Text of which each byte was taken for a character of its own and encoded again. */
function fromTwiceEncoded(line: Buffer): Buffer | undefined {
  return hasHighBytes(line) ? Buffer.from(line.toString(), 'latin1') : undefined;
}

function hasHighBytes(line: Buffer): boolean {
  return line.some((byte) => byte > 127);
}

/** Where each stands is not known any more in the encoding that it came from; what is missing is told of at the end. */
function placed(found: readonly Found[], lines: number, length: number): readonly Piece[] {
  const records = found.map((record) => ({ ...record, from: 0, to: length }));
  return lines > found.length ? [...records, { kind: 'lost', from: 0, to: length }] : records;
}

const NEWLINE = 10;
const OPENING = '{"type":"';
const SEALS = /,"crc":"[0-9a-f]{8}"\}/g;
const SEALED = /,"crc":"[0-9a-f]{8}"\}\s*$/;
const SEAL_LENGTH = ',"crc":"00000000"}'.length;
/** A longer line is searched for nothing. */
const MOST_SEARCHED = 64 * 1024 * 1024;
/** Each costs a sum over the line. */
const MOST_STARTS = 64;
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);
