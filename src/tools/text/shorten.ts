/** Returns text in one line for a title or a summary: single spaces, no characters that hide others, limited length. */
export function oneLine(text: string, maxLength = 120): string {
  // Control characters would move the terminal's cursor, and bidirectional overrides would reorder the text.
  const line = text.replaceAll(/[\s\p{Cc}\u202a-\u202e\u2066-\u2069]+/gu, ' ').trim();
  return line.length <= maxLength ? line : `${truncate(line, maxLength - 1)}…`;
}

/** Returns a line of a file for a model; long lines, as in minified code, are cut. */
export function cutLine(line: string, maxLength: number): string {
  return line.length <= maxLength ? line : `${truncate(line, maxLength)} … [line cut]`;
}

/** `1 line`, `2 lines`, `1,234 lines`. */
export function formatCount(count: number, noun: string, plural = `${noun}s`): string {
  return `${formatNumber(count)} ${count === 1 ? noun : plural}`;
}

/** `1,234,567`, independent of the locale. */
export function formatNumber(count: number): string {
  return String(count).replaceAll(/\B(?=(?:\d{3})+$)/g, ',');
}

/** `512 B`, `12 KB`, `1.5 MB`. */
export function formatBytes(bytes: number): string {
  const [unit = 'B', size = 1] =
    [['GB', 1e9] as const, ['MB', 1e6] as const, ['KB', 1e3] as const].find(([, size]) => bytes >= size) ??
    [];
  const amount = bytes / size;
  return `${amount < 10 && size > 1 ? amount.toFixed(1).replace('.0', '') : Math.floor(amount)} ${unit}`;
}

/** Removes a partial character at the end. */
export function withoutPartialEnd(bytes: Uint8Array): Uint8Array {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte < 0x80) return bytes;
    if (byte >= 0xc0) return back < characterLength(byte) ? bytes.subarray(0, bytes.length - back) : bytes;
  }
  return bytes;
}

/** Removes a partial character at the start. */
export function withoutPartialStart(bytes: Uint8Array): Uint8Array {
  let skip = 0;
  while (skip < Math.min(3, bytes.length) && ((bytes[skip] ?? 0) & 0xc0) === 0x80) skip += 1;
  return bytes.subarray(skip);
}

/** Returns the byte length of the character that starts with this byte. */
function characterLength(firstByte: number): number {
  if (firstByte >= 0xf0) return 4;
  return firstByte >= 0xe0 ? 3 : 2;
}

/** Returns at most this many code units, without half a surrogate pair. */
function truncate(text: string, maxLength: number): string {
  const last = text.charCodeAt(maxLength - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? maxLength - 1 : maxLength);
}
