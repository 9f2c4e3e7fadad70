import { isObject, tryParse } from '../base/index.ts';
import {
  changesByEffect,
  INITIAL_STATE,
  stateAfter,
  stateAfterByte,
  stateBeforeZero,
  crcFromState,
} from './crc32c.ts';

/**
 * `ok`: the checksum is correct. `unverified`: a JSON object without a checksum, written by another program. `corrupt`:
 * anything else.
 */
export type LineCheck = 'ok' | 'unverified' | 'corrupt';

const NEWLINE = 10;
const QUOTE = 34;
const OPENING_BRACE = 123;
const CLOSING_BRACE = 125;
/** The bytes before and after the eight hex digits at the end of a line. */
const BEFORE = Buffer.from(',"crc":"');
const AFTER = Buffer.from('"}');
const DIGITS = 8;
const SEAL = `${BEFORE.toString()}${'0'.repeat(DIGITS)}${AFTER.toString()}`;
const SEALED_LINE = `${SEAL}\n`;

/** Whether the text can be a log record: an object with at least one key, as JSON.stringify formats it. */
export function isRecord(text: string): boolean {
  // Runs for every record: the engine inlines these calls, but not `startsWith` and `includes`.
  return (
    text.charCodeAt(0) === OPENING_BRACE &&
    text.charCodeAt(1) === QUOTE &&
    text.charCodeAt(text.length - 1) === CLOSING_BRACE &&
    // oxlint-disable-next-line unicorn/prefer-includes -- see above
    text.indexOf('\n') === -1
  );
}

/**
 * Converts records to lines: each gets, as its last key, `"crc"` with eight hex digits, the CRC-32C of the UTF-8 text
 * without that key, and a newline. Nothing is serialized again: all text is encoded at once with zeros for the digits, which
 * are filled in afterwards. The returned bytes are valid until the next call.
 */
export function sealRecords(records: readonly string[]): Uint8Array {
  let text = '';
  for (const record of records) text += `${record.slice(0, -1)}${SEALED_LINE}`;
  const capacity = text.length * MAX_BYTES_PER_UNIT;
  // Allocating a buffer for every write would cost more than the encoding.
  if (scratch.length < capacity && capacity <= MAX_SCRATCH) scratch = Buffer.allocUnsafeSlow(capacity);
  const target = capacity <= scratch.length ? scratch : Buffer.allocUnsafeSlow(capacity);
  const bytes = target.subarray(0, target.write(text));
  for (let start = 0; start < bytes.length; ) {
    const end = bytes.indexOf(NEWLINE, start);
    writeDigits(bytes, end - AFTER.length - DIGITS, sumWithoutSeal(bytes, start, end));
    start = end + 1;
  }
  return bytes;
}

/** The maximum number of UTF-8 bytes per UTF-16 code unit. */
const MAX_BYTES_PER_UNIT = 3;
const MAX_SCRATCH = 1024 * 1024;
let scratch = Buffer.alloc(0);

/** Verifies a line without its newline. */
export function verifyLine(line: Uint8Array): LineCheck {
  // A line that exceeds the maximum string length cannot have been written.
  if (line.length > MAX_LINE_LENGTH) return 'corrupt';
  const wrongBytes = wrongSealBytes(line);
  if (wrongBytes <= 1) {
    const isCorrect = storedChecksum(line) === sumWithoutSeal(line, 0, line.length);
    if (wrongBytes === 0) return isCorrect ? 'ok' : 'corrupt';
    // The checksum is correct, so a byte of its key is damaged.
    if (isCorrect) return 'corrupt';
  }
  // A line of another program can only be checked for valid JSON.
  return isObject(tryParse(Buffer.from(line.buffer, line.byteOffset, line.length).toString()))
    ? 'unverified'
    : 'corrupt';
}

/** V8's maximum string length. */
const MAX_LINE_LENGTH = 0x1fffffe8;

/**
 * Restores a line with one wrong byte; returns undefined if no single byte explains the damage, or if the result is
 * ambiguous. The checksum determines the byte in time proportional to the length of the line. A line with other damage can
 * match by chance, more often the longer it is: hence the limits.
 */
export function correctOneByte(line: Uint8Array): Uint8Array | undefined {
  const body = line.length - SEAL.length;
  if (body < 2 || body > CORRECTED_BITS) return undefined;
  const wrongBytes = wrongSealBytes(line);
  if (wrongBytes > 1) return undefined;
  const storedSum = storedChecksum(line);
  if (wrongBytes === 1)
    return storedSum === sumWithoutSeal(line, 0, line.length) ? resealLine(line) : undefined;
  // If one digit is damaged, the digits differ in one place; with a damaged body they differ in more.
  const sum = sumWithoutSeal(line, 0, line.length);
  if (Number.isNaN(storedSum) || differingDigits(storedSum, sum) === 1)
    return hasOneWrongDigit(line, sum) ? resealLine(line) : undefined;
  const found: Uint8Array[] = [];
  // The checksum also covers the closing brace after the body.
  let effect = stateBeforeZero(storedSum ^ sum);
  for (let index = body - 1; index >= 0; index -= 1) {
    const change = CHANGES.get(effect);
    if (change !== undefined && (body <= CORRECTED_BYTES || isOneBit(change))) {
      const corrected = Uint8Array.from(line);
      corrected[index] = (corrected[index] ?? 0) ^ change;
      if (verifyLine(corrected) === 'ok' && isObject(tryParse(unsealRecord(corrected))))
        found.push(corrected);
    }
    effect = stateBeforeZero(effect);
  }
  return found.length === 1 ? found[0] : undefined;
}

/** Up to this length any change of a byte is tried: fewer than 1 in 1,000 lines with other damage match by chance. */
const CORRECTED_BYTES = 16 * 1024;
/** Up to this length a change of one bit is tried. */
const CORRECTED_BITS = 512 * 1024;
const CHANGES = changesByEffect();

function isOneBit(change: number): boolean {
  return (change & (change - 1)) === 0;
}

function differingDigits(one: number, other: number): number {
  let count = 0;
  for (let rest = (one ^ other) >>> 0; rest !== 0; rest >>>= 4) if ((rest & 15) !== 0) count += 1;
  return count;
}

/** Whether exactly one digit of the seal differs from the checksum. */
function hasOneWrongDigit(line: Uint8Array, sum: number): boolean {
  const digits = sum.toString(16).padStart(DIGITS, '0');
  const position = line.length - AFTER.length - DIGITS;
  let wrongBytes = 0;
  for (let digit = 0; digit < DIGITS; digit += 1)
    if (line[position + digit] !== digits.charCodeAt(digit)) wrongBytes += 1;
  return wrongBytes === 1;
}

/** The same record with a correct seal. */
function resealLine(line: Uint8Array): Uint8Array | undefined {
  const record = unsealRecord(line);
  if (!isRecord(record) || !isObject(tryParse(record))) return undefined;
  return Uint8Array.from(sealRecords([record]).subarray(0, -1));
}

/** The text of a record without its checksum, from a line that is `ok`. */
export function unsealRecord(line: Uint8Array): string {
  const body = line.length - SEAL.length;
  const text = Buffer.from(line.buffer, line.byteOffset, line.length);
  return `${text.toString('utf8', 0, body)}}`;
}

/** The number of wrong bytes in the constant parts of the seal. */
function wrongSealBytes(line: Uint8Array): number {
  const seal = line.length - SEAL.length;
  if (seal < 1) return SEAL.length;
  let wrongBytes = 0;
  for (let index = 0; index < BEFORE.length; index += 1)
    if (line[seal + index] !== BEFORE[index]) wrongBytes += 1;
  for (let index = 0; index < AFTER.length; index += 1)
    if (line[seal + BEFORE.length + DIGITS + index] !== AFTER[index]) wrongBytes += 1;
  return wrongBytes;
}

function sumWithoutSeal(bytes: Uint8Array, start: number, end: number): number {
  return crcFromState(
    stateAfterByte(stateAfter(INITIAL_STATE, bytes, start, end - SEAL.length), CLOSING_BRACE),
  );
}

function writeDigits(bytes: Uint8Array, position: number, sum: number): void {
  for (let digit = 0; digit < DIGITS; digit += 1) {
    const value = (sum >>> (28 - 4 * digit)) & 15;
    bytes[position + digit] = value < 10 ? 48 + value : 87 + value;
  }
}

/** The checksum in the seal; NaN, which equals nothing, if a byte is not a lower-case hex digit. */
function storedChecksum(line: Uint8Array): number {
  const position = line.length - AFTER.length - DIGITS;
  let sum = 0;
  for (let digit = 0; digit < DIGITS; digit += 1) {
    const byte = line[position + digit] ?? 0;
    const value = byte >= 48 && byte <= 57 ? byte - 48 : byte >= 97 && byte <= 102 ? byte - 87 : Number.NaN;
    sum = sum * 16 + value;
  }
  return sum;
}
