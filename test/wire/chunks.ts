import type { FrameReader } from '../../src/wire/index.ts';

/** Splits bytes into chunks of the given lengths; the rest is one more chunk. */
export function splitBytes(bytes: Uint8Array, lengths: readonly number[]): readonly Uint8Array[] {
  const pieces: Uint8Array[] = [];
  let from = 0;
  for (const length of lengths) {
    pieces.push(bytes.subarray(from, from + length));
    from += length;
  }
  return [...pieces, bytes.subarray(from)];
}

export function everyByte(bytes: Uint8Array): readonly Uint8Array[] {
  return Array.from(bytes, (_, at) => bytes.subarray(at, at + 1));
}

export function pushAll(reader: FrameReader, pieces: readonly Uint8Array[]): readonly string[] {
  return [...pieces.flatMap((piece) => reader.push(piece)), ...reader.end()];
}
