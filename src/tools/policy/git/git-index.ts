/**
 * Returns the names of the tracked files from a repository's index: a header, entries sorted by name,
 * extensions. Returns undefined if the index is incomplete (split or sparse) or invalid.
 */
export function trackedNames(index: Buffer, hashBytes: 20 | 32): readonly string[] | undefined {
  if (index.length < HEADER || index.toString('latin1', 0, 4) !== 'DIRC') return undefined;
  const version = index.readUInt32BE(4);
  const count = index.readUInt32BE(8);
  if (version < 2 || version > 4) return undefined;
  const names: string[] = [];
  let at = HEADER;
  let previous: Buffer = Buffer.alloc(0);
  while (names.length < count) {
    const entry = entryAt(index, at, hashBytes, version === 4 ? previous : undefined);
    if (entry === undefined) return undefined;
    names.push(entry.name.toString());
    previous = entry.name;
    at = entry.next;
  }
  return hasOtherFiles(index, at, hashBytes) ? undefined : names;
}

const HEADER = 12;
/** The times, ids and sizes before the hash. */
const STAT = 40;
const EXTENDED = 0x4000;

interface Entry {
  readonly name: Buffer;
  readonly next: number;
}

/** In version 4 a name starts with a prefix of the previous one. */
function entryAt(
  index: Buffer,
  at: number,
  hashBytes: number,
  previous: Buffer | undefined,
): Entry | undefined {
  const flagsAt = at + STAT + hashBytes;
  if (flagsAt + 2 > index.length) return undefined;
  const start = flagsAt + ((index.readUInt16BE(flagsAt) & EXTENDED) === 0 ? 2 : 4);
  const prefix =
    previous === undefined ? { length: 0, next: start } : keptPrefix(index, start, previous.length);
  if (prefix === undefined) return undefined;
  const end = index.indexOf(0, prefix.next);
  if (end === -1) return undefined;
  const name = Buffer.concat([
    previous?.subarray(0, prefix.length) ?? Buffer.alloc(0),
    index.subarray(prefix.next, end),
  ]);
  // The other versions pad to eight bytes, with at least one zero.
  const next = previous === undefined ? at + ((end - at + 8) & ~7) : end + 1;
  return { name, next };
}

/**
 * Returns how much of the previous name is kept: the cut is a varint of seven bits per byte, each further byte
 * adding one.
 */
function keptPrefix(
  index: Buffer,
  start: number,
  length: number,
): { length: number; next: number } | undefined {
  let cut = 0;
  for (let at = start; at < Math.min(index.length, start + 5); at += 1) {
    const byte = index.readUInt8(at);
    cut = (cut << 7) | (byte & 0x7f);
    if (byte < 0x80) return cut > length ? undefined : { length: length - cut, next: at + 1 };
    cut += 1;
  }
  return undefined;
}

/** Returns whether an extension declares tracked files that are not entries. */
function hasOtherFiles(index: Buffer, start: number, hashBytes: number): boolean {
  const end = index.length - hashBytes;
  let at = start;
  while (at + 8 <= end) {
    if (['link', 'sdir'].includes(index.toString('latin1', at, at + 4))) return true;
    at += 8 + index.readUInt32BE(at + 4);
  }
  return at !== end;
}
