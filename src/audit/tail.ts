import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { numberOf, parseObject, stringOf, systemCodeOf } from '../base/index.ts';
import { type ChainHead, decodeEntry } from './entry.ts';

/** The end of a file of the chain. */
export interface FileTail {
  readonly size: number;
  /** The last entry with a correct hash; undefined if there is none. */
  readonly head: ChainHead | undefined;
  /** The bytes after the last newline: a line that was cut off by a crash. */
  readonly torn: Buffer;
  /** The first line, unverified, for its time and format. */
  readonly first: string;
}

/** Reads the end of a file; undefined if the file does not exist. */
export function readTail(path: string): FileTail | undefined {
  let descriptor: number;
  try {
    descriptor = openSync(path, 'r');
  } catch (thrown) {
    if (systemCodeOf(thrown) === 'ENOENT') return undefined;
    throw thrown;
  }
  try {
    const { size } = fstatSync(descriptor);
    const firstBlock = read(descriptor, 0, Math.min(size, BLOCK)).toString('utf8');
    const first = firstBlock.split('\n', 1)[0] ?? '';
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
      if (entry !== undefined || from === 0) return { size, torn, first, head: entry && chainHead(entry) };
    }
  } finally {
    closeSync(descriptor);
  }
}

/** Parses the head file; undefined if it is empty or invalid. */
export function parseHead(text: string): ChainHead | undefined {
  const { seq, hash } = parseObject(text.trim()) ?? {};
  const number = numberOf(seq);
  const hexHash = stringOf(hash);
  return number === undefined || !/^[0-9a-f]{64}$/.test(hexHash) ? undefined : { seq: number, hash: hexHash };
}

function chainHead({ seq, hash }: ChainHead): ChainHead {
  return { seq, hash };
}

function read(descriptor: number, from: number, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  let filled = 0;
  while (filled < length) {
    const more = readSync(descriptor, bytes, filled, length - filled, from + filled);
    if (more === 0) break;
    filled += more;
  }
  return bytes.subarray(0, filled);
}

const BLOCK = 64 * 1024;
const NEWLINE = 10;
