const NUL = 0;
const QUOTE = 34;
const BACKSLASH = 92;
const OPENING = new Set([123, 91]);
const CLOSING = new Set([125, 93]);
/** The other bytes of JSON outside of strings: whitespace, commas, colons, numbers, and the letters of true, false and null. */
const PLAIN = new Set(Buffer.from(' \t\r,:+-.0123456789eEtrufalsn'));

/**
 * Whether bytes without a newline are the result of a crash at the end of a log: the start of a record, or allocated blocks
 * that were never filled. Anything else has another cause and must not be removed without asking.
 */
export function isIncompleteRecord(bytes: Uint8Array): boolean {
  let end = bytes.length;
  while (end > 0 && bytes[end - 1] === NUL) end -= 1;
  if (end === 0) return true;
  if (bytes[0] !== 123 || (end > 1 && bytes[1] !== QUOTE)) return false;
  let depth = 0;
  for (let at = 0; at < end; at += 1) {
    const byte = bytes[at] ?? NUL;
    if (byte === QUOTE) {
      at = endOfString(bytes, at + 1, end);
      if (at < 0) return false;
    } else if (OPENING.has(byte)) depth += 1;
    else if (CLOSING.has(byte)) {
      depth -= 1;
      // The record is complete, so its checksum or the bytes after it are wrong.
      if (depth === 0) return false;
    } else if (!PLAIN.has(byte)) return false;
  }
  return true;
}

/** The end of a string, which may be the end of the bytes; -1 if it contains characters that JSON strings cannot have. */
function endOfString(bytes: Uint8Array, start: number, end: number): number {
  for (let at = start; at < end; at += 1) {
    const byte = bytes[at] ?? NUL;
    if (byte === QUOTE) return at;
    if (byte < 32) return -1;
    if (byte === BACKSLASH) at += 1;
  }
  return end;
}
