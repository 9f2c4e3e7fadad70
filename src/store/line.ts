import { isObject, tryParse } from '../base/index.ts';
import { changesByEffect, EMPTY, stateAfter, stateAfterByte, stateBeforeZero, sumOf } from './crc32c.ts';

/**
 * `ok`: the sum is there and right. `unverified`: a JSON object without a sum, which another program wrote. `corrupt`:
 * the bytes are not what anybody wrote.
 */
export type Verdict = 'ok' | 'unverified' | 'corrupt';

const NEWLINE = 10;
const QUOTE = 34;
const OPENING_BRACE = 123;
const CLOSING_BRACE = 125;
/** What stands before and after the eight hex digits at the end of a line. */
const BEFORE = Buffer.from(',"crc":"');
const AFTER = Buffer.from('"}');
const DIGITS = 8;
const SEAL = `${BEFORE.toString()}${'0'.repeat(DIGITS)}${AFTER.toString()}`;
const SEALED_LINE = `${SEAL}\n`;

/** Whether the text can be a line of a log: that of an object with a key, as JSON.stringify gives it. */
export function isRecord(text: string): boolean {
  // Asked of every record, hence by what the engine does inline; `startsWith` and `includes` it calls.
  return (
    text.charCodeAt(0) === OPENING_BRACE &&
    text.charCodeAt(1) === QUOTE &&
    text.charCodeAt(text.length - 1) === CLOSING_BRACE &&
    // oxlint-disable-next-line unicorn/prefer-includes -- see above
    text.indexOf('\n') === -1
  );
}

/**
 * The lines to write for these records: each gets, as its last key, `"crc"` with eight hex digits, the CRC-32C of the
 * UTF-8 text without that key, and a newline. Nothing is serialised again: all the text is encoded in one go with zeros
 * for the digits, and the digits are put in afterwards. The bytes are good until the next call.
 */
export function sealRecords(records: readonly string[]): Uint8Array {
  let text = '';
  for (const record of records) text += `${record.slice(0, -1)}${SEALED_LINE}`;
  const room = text.length * MOST_BYTES;
  // A buffer of its own for every write would cost more than the encoding.
  if (scratch.length < room && room <= MOST_SCRATCH) scratch = Buffer.allocUnsafeSlow(room);
  const target = room <= scratch.length ? scratch : Buffer.allocUnsafeSlow(room);
  const bytes = target.subarray(0, target.write(text));
  for (let start = 0; start < bytes.length; ) {
    const end = bytes.indexOf(NEWLINE, start);
    putDigits(bytes, end - AFTER.length - DIGITS, sumWithoutSeal(bytes, start, end));
    start = end + 1;
  }
  return bytes;
}

/** How many bytes of UTF-8 one unit of a string becomes at most. */
const MOST_BYTES = 3;
const MOST_SCRATCH = 1024 * 1024;
let scratch = Buffer.alloc(0);

/** Whether a line, without its newline, is what was written. */
export function verifyLine(line: Uint8Array): Verdict {
  // No string holds it, so nobody wrote it.
  if (line.length > LONGEST) return 'corrupt';
  const foreign = oddSealBytes(line);
  if (foreign <= 1) {
    const right = digitsAt(line) === sumWithoutSeal(line, 0, line.length);
    if (foreign === 0) return right ? 'ok' : 'corrupt';
    // The sum is right, so it is a sum: what is damaged is the key that names it.
    if (right) return 'corrupt';
  }
  // Another program's line has nothing to be checked by but its grammar.
  return isObject(tryParse(Buffer.from(line.buffer, line.byteOffset, line.length).toString()))
    ? 'unverified'
    : 'corrupt';
}

/** Longer than any line that Polypod or another JavaScript program writes: a string holds no more. */
const LONGEST = 0x1fffffe8;

/**
 * The line that becomes `ok` when one of its bytes is another one; undefined if there is no such byte, or more than one. The
 * sum says which byte it is, in time proportional to the line. By chance it says so of a line with other damage, too, the
 * more often the longer it is: hence the limits.
 */
export function withOneByteCorrected(line: Uint8Array): Uint8Array | undefined {
  const body = line.length - SEAL.length;
  if (body < 2 || body > CORRECTED_BITS) return undefined;
  const odd = oddSealBytes(line);
  if (odd > 1) return undefined;
  const given = digitsAt(line);
  if (odd === 1) return given === sumWithoutSeal(line, 0, line.length) ? resealed(line) : undefined;
  // Digits of which one is damaged are near to the right ones, which a damaged body's never are.
  const sum = sumWithoutSeal(line, 0, line.length);
  if (Number.isNaN(given) || hexDigitsApart(given, sum) === 1)
    return hasOneOddDigit(line, sum) ? resealed(line) : undefined;
  const found: Uint8Array[] = [];
  // The closing brace that stands for the seal follows on the body.
  let effect = stateBeforeZero(given ^ sum);
  for (let index = body - 1; index >= 0; index -= 1) {
    const change = CHANGES.get(effect);
    if (change !== undefined && (body <= CORRECTED_BYTES || isOneBit(change))) {
      const corrected = Uint8Array.from(line);
      corrected[index] = (corrected[index] ?? 0) ^ change;
      if (verifyLine(corrected) === 'ok' && isObject(tryParse(recordIn(corrected)))) found.push(corrected);
    }
    effect = stateBeforeZero(effect);
  }
  return found.length === 1 ? found[0] : undefined;
}

/** Up to here any change of a byte is looked for: less than 1 in 1,000 lines with other damage seem to have one. */
const CORRECTED_BYTES = 16 * 1024;
/** Up to here a change of one bit. */
const CORRECTED_BITS = 512 * 1024;
const CHANGES = changesByEffect();

function isOneBit(change: number): boolean {
  return (change & (change - 1)) === 0;
}

function hexDigitsApart(one: number, other: number): number {
  let apart = 0;
  for (let rest = (one ^ other) >>> 0; rest !== 0; rest >>>= 4) if ((rest & 15) !== 0) apart += 1;
  return apart;
}

/** Whether the digits of the seal are those of the sum but for one. */
function hasOneOddDigit(line: Uint8Array, sum: number): boolean {
  const digits = sum.toString(16).padStart(DIGITS, '0');
  const position = line.length - AFTER.length - DIGITS;
  let odd = 0;
  for (let digit = 0; digit < DIGITS; digit += 1)
    if (line[position + digit] !== digits.charCodeAt(digit)) odd += 1;
  return odd === 1;
}

/** The same record with a seal that is right. */
function resealed(line: Uint8Array): Uint8Array | undefined {
  const record = recordIn(line);
  if (!isRecord(record) || !isObject(tryParse(record))) return undefined;
  return Uint8Array.from(sealRecords([record]).subarray(0, -1));
}

/** The record in a line that is `ok`: the text as it was given, without the sum. */
export function recordIn(line: Uint8Array): string {
  const body = line.length - SEAL.length;
  const text = Buffer.from(line.buffer, line.byteOffset, line.length);
  return `${text.toString('utf8', 0, body)}}`;
}

/** How many of the bytes that never change are not what they are at the end of a line of ours. */
function oddSealBytes(line: Uint8Array): number {
  const seal = line.length - SEAL.length;
  if (seal < 1) return SEAL.length;
  let odd = 0;
  for (let index = 0; index < BEFORE.length; index += 1) if (line[seal + index] !== BEFORE[index]) odd += 1;
  for (let index = 0; index < AFTER.length; index += 1)
    if (line[seal + BEFORE.length + DIGITS + index] !== AFTER[index]) odd += 1;
  return odd;
}

function sumWithoutSeal(bytes: Uint8Array, start: number, end: number): number {
  return sumOf(stateAfterByte(stateAfter(EMPTY, bytes, start, end - SEAL.length), CLOSING_BRACE));
}

function putDigits(bytes: Uint8Array, position: number, sum: number): void {
  for (let digit = 0; digit < DIGITS; digit += 1) {
    const value = (sum >>> (28 - 4 * digit)) & 15;
    bytes[position + digit] = value < 10 ? 48 + value : 87 + value;
  }
}

/** NaN when one of them is no lower-case hex digit, and NaN equals nothing. */
function digitsAt(line: Uint8Array): number {
  const position = line.length - AFTER.length - DIGITS;
  let sum = 0;
  for (let digit = 0; digit < DIGITS; digit += 1) {
    const byte = line[position + digit] ?? 0;
    const value = byte >= 48 && byte <= 57 ? byte - 48 : byte >= 97 && byte <= 102 ? byte - 87 : Number.NaN;
    sum = sum * 16 + value;
  }
  return sum;
}
