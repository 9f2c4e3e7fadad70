/** Text in one line for a title or a summary: single spaces, no control characters, and not longer than it should be. */
export function oneLine(text: string, most = 120): string {
  // Control characters would move the cursor of whoever shows the line.
  // oxlint-disable-next-line no-control-regex
  const line = text.replaceAll(/[\s\u0000-\u001f\u007f-\u009f]+/g, ' ').trim();
  return line.length <= most ? line : `${wholeStart(line, most - 1)}…`;
}

/** A line of a file for a model: long ones, as in minified code, only in part. */
export function cutLine(line: string, most: number): string {
  return line.length <= most ? line : `${wholeStart(line, most)} … [line cut]`;
}

/** `1 line`, `2 lines`, `1,234 lines`. */
export function counted(count: number, noun: string, plural = `${noun}s`): string {
  return `${grouped(count)} ${count === 1 ? noun : plural}`;
}

/** `1,234,567`, whatever the language of the machine. */
export function grouped(count: number): string {
  return String(count).replaceAll(/\B(?=(?:\d{3})+$)/g, ',');
}

/** `512 B`, `12 KB`, `1.5 MB`. */
export function sized(bytes: number): string {
  const [unit = 'B', size = 1] =
    [['GB', 1e9] as const, ['MB', 1e6] as const, ['KB', 1e3] as const].find(([, size]) => bytes >= size) ??
    [];
  const amount = bytes / size;
  return `${amount < 10 && size > 1 ? amount.toFixed(1).replace('.0', '') : Math.floor(amount)} ${unit}`;
}

/** The bytes without the part of a character that the cut at their end left behind. */
export function withoutPartialEnd(bytes: Uint8Array): Uint8Array {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte < 0x80) return bytes;
    if (byte >= 0xc0) return back < lengthOf(byte) ? bytes.subarray(0, bytes.length - back) : bytes;
  }
  return bytes;
}

/** The bytes without the part of a character that the cut at their start left behind. */
export function withoutPartialStart(bytes: Uint8Array): Uint8Array {
  let skip = 0;
  while (skip < Math.min(3, bytes.length) && ((bytes[skip] ?? 0) & 0xc0) === 0x80) skip += 1;
  return bytes.subarray(skip);
}

/** The number of bytes of the character that starts with this one. */
function lengthOf(firstByte: number): number {
  if (firstByte >= 0xf0) return 4;
  return firstByte >= 0xe0 ? 3 : 2;
}

/** At most so many code units, and not half of a pair. */
function wholeStart(text: string, most: number): string {
  const last = text.charCodeAt(most - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? most - 1 : most);
}
