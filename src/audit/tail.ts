import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { numberOf, objectIn, stringOf, systemCodeOf } from '../base/index.ts';
import { type ChainHead, decodeEntry } from './entry.ts';

/** How a file of the chain ends. */
export interface Tail {
  readonly size: number;
  /** The last entry whose hash is right; undefined if there is none. */
  readonly head: ChainHead | undefined;
  /** Bytes after the last line end: what a crash left of a line. */
  readonly torn: Buffer;
  /** The first line as it is, for its time and its form. */
  readonly first: string;
}

/** Reads the end of a file; undefined if there is none. */
export function readTail(path: string): Tail | undefined {
  let descriptor: number;
  try {
    descriptor = openSync(path, 'r');
  } catch (thrown) {
    if (systemCodeOf(thrown) === 'ENOENT') return undefined;
    throw thrown;
  }
  try {
    const { size } = fstatSync(descriptor);
    const beginning = read(descriptor, 0, Math.min(size, BLOCK)).toString('utf8');
    const first = beginning.split('\n', 1)[0] ?? '';
    for (let length = BLOCK; ; length *= 4) {
      const from = Math.max(0, size - length);
      const bytes = read(descriptor, from, size - from);
      const end = bytes.lastIndexOf(NEWLINE);
      const torn = bytes.subarray(end + 1);
      const lines = bytes.subarray(0, Math.max(end, 0)).toString('utf8').split('\n');
      const entry = lines
        .toReversed()
        .map(decodeEntry)
        .find((one) => one !== undefined);
      if (entry !== undefined || from === 0) return { size, torn, first, head: entry && headIn(entry) };
    }
  } finally {
    closeSync(descriptor);
  }
}

/** What the head file says; undefined if it is missing or cannot be read. */
export function parseHead(text: string): ChainHead | undefined {
  const { seq, hash } = objectIn(text.trim()) ?? {};
  const number = numberOf(seq);
  const own = stringOf(hash);
  return number === undefined || !/^[0-9a-f]{64}$/.test(own) ? undefined : { seq: number, hash: own };
}

function headIn({ seq, hash }: ChainHead): ChainHead {
  return { seq, hash };
}

function read(descriptor: number, from: number, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  let got = 0;
  while (got < length) {
    const more = readSync(descriptor, bytes, got, length - got, from + got);
    if (more === 0) break;
    got += more;
  }
  return bytes.subarray(0, got);
}

const BLOCK = 64 * 1024;
const NEWLINE = 10;
