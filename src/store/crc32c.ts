/** CRC-32C (Castagnoli) of a range of bytes, as an unsigned number. */
export function crc32c(bytes: Uint8Array, start = 0, end = bytes.length): number {
  return sumOf(stateAfter(EMPTY, bytes, start, end));
}

/** The state of a sum that has seen nothing yet. */
export const EMPTY = -1;

/** The sum in a state. */
export function sumOf(state: number): number {
  return ~state >>> 0;
}

/** The state after one more byte. */
export function stateAfterByte(state: number, byte: number): number {
  return at(T0, (state ^ byte) & 255) ^ (state >>> 8);
}

/** The state before a zero byte: the way back of `stateAfterByte`, for the difference between two sums. */
export function stateBeforeZero(state: number): number {
  const byte = at(BY_TOP, state >>> 24);
  return ((state ^ at(T0, byte)) << 8) | byte;
}

/** What a changed byte changes in the state, by the change; no two changes do the same. */
export function changesByEffect(): ReadonlyMap<number, number> {
  return new Map(Array.from(T0, (effect, change) => [effect, change]));
}

/**
 * The state after more bytes. Sixteen bytes a step, one table for each of their places: about four times as fast as byte by
 * byte, and the sum is the dearest part of an append.
 */
export function stateAfter(state: number, bytes: Uint8Array, start: number, end: number): number {
  let sum = state;
  let next = start;
  for (; next + 16 <= end; next += 16) {
    sum =
      at(T15, (sum ^ byteAt(bytes, next)) & 255) ^
      at(T14, ((sum >>> 8) ^ byteAt(bytes, next + 1)) & 255) ^
      at(T13, ((sum >>> 16) ^ byteAt(bytes, next + 2)) & 255) ^
      at(T12, (sum >>> 24) ^ byteAt(bytes, next + 3)) ^
      at(T11, byteAt(bytes, next + 4)) ^
      at(T10, byteAt(bytes, next + 5)) ^
      at(T9, byteAt(bytes, next + 6)) ^
      at(T8, byteAt(bytes, next + 7)) ^
      at(T7, byteAt(bytes, next + 8)) ^
      at(T6, byteAt(bytes, next + 9)) ^
      at(T5, byteAt(bytes, next + 10)) ^
      at(T4, byteAt(bytes, next + 11)) ^
      at(T3, byteAt(bytes, next + 12)) ^
      at(T2, byteAt(bytes, next + 13)) ^
      at(T1, byteAt(bytes, next + 14)) ^
      at(T0, byteAt(bytes, next + 15));
  }
  for (; next < end; next += 1) sum = stateAfterByte(sum, byteAt(bytes, next));
  return sum;
}

/** Every index above is in range, which the compiler cannot know. Apart from `byteAt`: each sees one kind of array, and is fast. */
function at(table: Int32Array, index: number): number {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- see above
  return table[index] as number;
}

function byteAt(bytes: Uint8Array, index: number): number {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- see above
  return bytes[index] as number;
}

function firstTable(): Int32Array {
  return Int32Array.from({ length: 256 }, (_, byte) => {
    let sum = byte;
    for (let bit = 0; bit < 8; bit += 1) sum = (sum & 1) === 1 ? (sum >>> 1) ^ 0x82f63b78 : sum >>> 1;
    return sum;
  });
}

/** What a byte adds to the sum when one more byte follows it than in the table before. */
function tableAfter(before: Int32Array): Int32Array {
  return before.map((sum) => at(T0, sum & 255) ^ (sum >>> 8));
}

const T0 = firstTable();
const T1 = tableAfter(T0);
const T2 = tableAfter(T1);
const T3 = tableAfter(T2);
const T4 = tableAfter(T3);
const T5 = tableAfter(T4);
const T6 = tableAfter(T5);
const T7 = tableAfter(T6);
const T8 = tableAfter(T7);
const T9 = tableAfter(T8);
const T10 = tableAfter(T9);
const T11 = tableAfter(T10);
const T12 = tableAfter(T11);
const T13 = tableAfter(T12);
const T14 = tableAfter(T13);
const T15 = tableAfter(T14);

/** Which byte's effect has this highest byte; no two have the same. */
const BY_TOP = Int32Array.from({ length: 256 }, (_, top) => T0.findIndex((effect) => effect >>> 24 === top));
