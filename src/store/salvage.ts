import { isObject, type JsonObject, tryParse } from '../base/index.ts';
import { unsealRecord, verifyLine, correctOneByte } from './line.ts';
import { isIncompleteRecord } from './incomplete-record.ts';

/** How a record was recovered from damaged bytes. */
export type RecoveryMethod =
  /** The checksum identified the wrong byte. */
  | 'byte'
  /** The complete record was between other bytes. */
  | 'found'
  /** The text was converted to another encoding. */
  | 'encoding';

/** A part of the damaged bytes, from `from` to `to`. */
export type SalvagedPiece =
  | {
      readonly kind: 'record';
      readonly text: string;
      /** Whether the record has a correct checksum. */
      readonly isSealed: boolean;
      readonly remedy: RecoveryMethod;
      readonly from: number;
      readonly to: number;
    }
  /** `unfinished`: an incomplete record at the end of a log after a crash; it was never acknowledged. */
  | { readonly kind: 'lost' | 'unfinished'; readonly from: number; readonly to: number };

type Found = Omit<Extract<SalvagedPiece, { kind: 'record' }>, 'from' | 'to'>;

export interface SalvageOptions {
  /** Whether the bytes are at the end of the log. */
  readonly isAtEnd: boolean;
  /** Whether an object can be a record of this log: parts of records are objects, too. */
  readonly isRecord: (value: JsonObject) => boolean;
}

/** Recovers the records from bytes without valid lines, in order, with the lost parts between them. */
export function salvage(bytes: Buffer, { isAtEnd, isRecord }: SalvageOptions): readonly SalvagedPiece[] {
  return new Salvage(isRecord).pieces(bytes, isAtEnd);
}

/** Searches damaged bytes for records. */
class Salvage {
  readonly #isRecord: (value: JsonObject) => boolean;

  constructor(isRecord: (value: JsonObject) => boolean) {
    this.#isRecord = isRecord;
  }

  pieces(bytes: Buffer, isAtEnd: boolean): readonly SalvagedPiece[] {
    const converted = this.#fromWideEncoding(bytes);
    if (converted !== undefined) return converted;
    const pieces: SalvagedPiece[] = [];
    const lines = splitLines(bytes);
    for (let index = 0; index < lines.length; index += 1) {
      const [line, next] = [lines[index], lines[index + 1]];
      if (line === undefined) continue;
      const content = bytes.subarray(line.from, line.to);
      if (content.length > MAX_SEARCHED) {
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
      } else if (isAtEnd && line.end === line.to && isIncompleteRecord(content))
        pieces.push({ kind: 'unfinished', from: line.from, to: line.to });
      else pieces.push(...this.#embeddedRecords(bytes, line));
    }
    return pieces;
  }

  /** The record of a line that is valid or can be corrected. */
  #lineRecord(line: Buffer): Found | undefined {
    const trimmed = trimFilling(line);
    // This also covers a last line without a newline.
    const found = this.#recordFrom(trimmed, 'found');
    if (found !== undefined) return found;
    const corrected = correctOneByte(trimmed);
    if (corrected !== undefined) return this.#recordFrom(corrected, 'byte');
    for (const converted of [fromLatin(trimmed), fromDoubleEncoded(trimmed)])
      if (converted !== undefined && verifyLine(converted) === 'ok')
        return this.#recordFrom(converted, 'encoding');
    return undefined;
  }

  /** The record of two joined lines: the newline between them is a damaged or an inserted byte. */
  #joinedRecord(bytes: Buffer, newlineAt: number): Found | undefined {
    const without = Buffer.concat([bytes.subarray(0, newlineAt), bytes.subarray(newlineAt + 1)]);
    if (verifyLine(without) === 'ok') return this.#recordFrom(without, 'found');
    const corrected = correctOneByte(bytes);
    // A correction elsewhere would leave the newline in the record.
    return corrected?.[newlineAt] === NEWLINE || corrected === undefined
      ? undefined
      : this.#recordFrom(corrected, 'byte');
  }

  /** The complete records in a damaged line, and the lost parts between them. */
  #embeddedRecords(bytes: Buffer, { from, to, end }: Line): readonly SalvagedPiece[] {
    const pieces: SalvagedPiece[] = [];
    const text = bytes.toString('latin1', from, to);
    let done = 0;
    for (const { index } of text.matchAll(SEALS)) {
      const sealEnd = index + SEAL_LENGTH;
      const start = this.#sealedStart(bytes, text, { from, done, sealEnd });
      if (start === undefined) continue;
      const found = this.#recordFrom(bytes.subarray(from + start, from + sealEnd), 'found');
      if (found === undefined) continue;
      // A single byte between two records is a damaged newline.
      if (start > done + (done > 0 ? 1 : 0))
        pieces.push({ kind: 'lost', from: from + done, to: from + start });
      pieces.push({ ...found, from: from + start, to: from + sealEnd });
      done = sealEnd;
    }
    if (done === 0) {
      const plain = this.#plainRecord(bytes.subarray(from, to));
      if (plain !== undefined) {
        const start = from + plain.start;
        const lost: SalvagedPiece[] = plain.start > 0 ? [{ kind: 'lost', from, to: start }] : [];
        return [...lost, { ...plain.found, from: start, to: end }];
      }
    }
    if (done === 0 || from + done + 1 < to) pieces.push({ kind: 'lost', from: from + done, to: end });
    return pieces;
  }

  /** The start of the record that ends with this seal. */
  #sealedStart(
    bytes: Buffer,
    text: string,
    { from, done, sealEnd }: { readonly from: number; readonly done: number; readonly sealEnd: number },
  ): number | undefined {
    let start = text.indexOf(OPENING, done);
    for (let attempt = 0; attempt < MAX_STARTS && start !== -1 && start < sealEnd; attempt += 1) {
      if (verifyLine(bytes.subarray(from + start, from + sealEnd)) === 'ok') return start;
      start = text.indexOf(OPENING, start + 1);
    }
    return undefined;
  }

  /** A record of another program, without a checksum, after a partial one. Our own records with a wrong checksum do not count. */
  #plainRecord(line: Buffer): { readonly start: number; readonly found: Found } | undefined {
    const text = line.toString('latin1');
    if (SEALED.test(text)) return undefined;
    let start = text.indexOf(OPENING);
    for (let attempt = 0; attempt < MAX_STARTS && start !== -1; attempt += 1) {
      const found = this.#recordFrom(trimFilling(line.subarray(start)), 'found');
      if (found !== undefined) return { start, found };
      start = text.indexOf(OPENING, start + 1);
    }
    return undefined;
  }

  #recordFrom(line: Uint8Array, remedy: RecoveryMethod): Found | undefined {
    const verdict = verifyLine(line);
    if (verdict === 'corrupt') return undefined;
    const text = verdict === 'ok' ? unsealRecord(line) : Buffer.from(line).toString();
    const value = tryParse(text);
    if (!isObject(value) || !this.#isRecord(value)) return undefined;
    return { kind: 'record', text, isSealed: verdict === 'ok', remedy };
  }

  /** The pieces of a text in UTF-16; undefined if the text is not UTF-16. */
  #fromWideEncoding(bytes: Buffer): readonly SalvagedPiece[] | undefined {
    const sample = bytes.subarray(0, 256);
    const nuls = sample.filter((byte) => byte === 0).length;
    if (nuls < sample.length / 3 || nuls > sample.length * 0.6) return undefined;
    for (const start of [0, 1]) {
      const even = bytes.subarray(start, start + 2 * Math.floor((bytes.length - start) / 2));
      for (const narrow of [even, Buffer.from(even).swap16()]) {
        const lines = narrow.toString('utf16le').split('\n');
        const found = lines.flatMap(
          (line) => this.#recordFrom(trimFilling(Buffer.from(line)), 'encoding') ?? [],
        );
        if (found.length > 0)
          return piecesForRecords(found, lines.filter((line) => line.trim() !== '').length, bytes.length);
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

function splitLines(bytes: Uint8Array): readonly Line[] {
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

/** Trims NUL bytes, whitespace and a byte order mark. */
function trimFilling(line: Buffer): Buffer {
  let [start, end] = [0, line.length];
  if (line.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK)) start = BYTE_ORDER_MARK.length;
  while (start < end && isFilling(line[start])) start += 1;
  while (end > start && isFilling(line[end - 1])) end -= 1;
  return line.subarray(start, end);
}

function isFilling(byte: number | undefined): boolean {
  return byte === 0 || byte === 32 || byte === 13 || byte === 9;
}

/** Converts Latin-1 to UTF-8. */
function fromLatin(line: Buffer): Buffer | undefined {
  return hasHighBytes(line) ? Buffer.from(line.toString('latin1')) : undefined;
}

/** Decodes text that was encoded as UTF-8 twice. */
function fromDoubleEncoded(line: Buffer): Buffer | undefined {
  return hasHighBytes(line) ? Buffer.from(line.toString(), 'latin1') : undefined;
}

function hasHighBytes(line: Buffer): boolean {
  return line.some((byte) => byte > 127);
}

/** Offsets are unknown after the conversion, so each record gets the whole range; a lost piece at the end represents missing lines. */
function piecesForRecords(found: readonly Found[], lines: number, length: number): readonly SalvagedPiece[] {
  const records = found.map((record) => ({ ...record, from: 0, to: length }));
  return lines > found.length ? [...records, { kind: 'lost', from: 0, to: length }] : records;
}

const NEWLINE = 10;
const OPENING = '{"type":"';
const SEALS = /,"crc":"[0-9a-f]{8}"\}/g;
const SEALED = /,"crc":"[0-9a-f]{8}"\}\s*$/;
const SEAL_LENGTH = ',"crc":"00000000"}'.length;
/** Longer lines are not searched. */
const MAX_SEARCHED = 64 * 1024 * 1024;
/** Each attempt computes a checksum over the line. */
const MAX_STARTS = 64;
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);
