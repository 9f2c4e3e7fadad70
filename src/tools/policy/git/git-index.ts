/**
 * The names of the files that a repository tracks, from its index: a header, entries sorted by name, extensions. Undefined
 * when not all of them are in it (a split or sparse index), or when it cannot be read.
 */
export function trackedNames(index: Buffer, hashBytes: 20 | 32): readonly string[] | undefined {
  if (index.length < HEADER || index.toString('latin1', 0, 4) !== 'DIRC') return undefined;
  const version = index.readUInt32BE(4);
  const count = index.readUInt32BE(8);
  if (version < 2 || version > 4) return undefined;
  const names: string[] = [];
  let at = HEADER;
  let last: Buffer = Buffer.alloc(0);
  while (names.length < count) {
    const entry = entryAt(index, at, hashBytes, version === 4 ? last : undefined);
    if (entry === undefined) return undefined;
    names.push(entry.name.toString());
    last = entry.name;
    at = entry.next;
  }
  return hasMore(index, at, hashBytes) ? undefined : names;
}

const HEADER = 12;
/** Times, ids and sizes before the hash. */
const STAT = 40;
const EXTENDED = 0x4000;

interface Entry {
  readonly name: Buffer;
  readonly next: number;
}

/** In version 4 a name starts with a part of the one before it. */
function entryAt(index: Buffer, at: number, hashBytes: number, last: Buffer | undefined): Entry | undefined {
  const flagsAt = at + STAT + hashBytes;
  if (flagsAt + 2 > index.length) return undefined;
  const start = flagsAt + ((index.readUInt16BE(flagsAt) & EXTENDED) === 0 ? 2 : 4);
  const kept = last === undefined ? { length: 0, next: start } : keptOf(index, start, last.length);
  if (kept === undefined) return undefined;
  const end = index.indexOf(0, kept.next);
  if (end === -1) return undefined;
  const name = Buffer.concat([
    last?.subarray(0, kept.length) ?? Buffer.alloc(0),
    index.subarray(kept.next, end),
  ]);
  // The other versions fill up to eight bytes, with one zero at least.
  const next = last === undefined ? at + ((end - at + 8) & ~7) : end + 1;
  return { name, next };
}

/** How much is cut off the end of the last name: seven bits a byte, each further byte counting from one more. */
function keptOf(index: Buffer, start: number, length: number): { length: number; next: number } | undefined {
  let cut = 0;
  for (let at = start; at < Math.min(index.length, start + 5); at += 1) {
    const byte = index.readUInt8(at);
    cut = (cut << 7) | (byte & 0x7f);
    if (byte < 0x80) return cut > length ? undefined : { length: length - cut, next: at + 1 };
    cut += 1;
  }
  return undefined;
}

/** Whether there are tracked files that are not entries: an extension says so. */
function hasMore(index: Buffer, start: number, hashBytes: number): boolean {
  const end = index.length - hashBytes;
  let at = start;
  while (at + 8 <= end) {
    if (['link', 'sdir'].includes(index.toString('latin1', at, at + 4))) return true;
    at += 8 + index.readUInt32BE(at + 4);
  }
  return at !== end;
}
