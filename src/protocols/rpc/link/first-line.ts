const NEWLINE = 10;
/** Longer than any system prompt on a command line. */
const LONGEST = 4 * 1024 * 1024;

/** Reads the first line of a stream and the bytes after it; undefined if the stream ends first or the line is too long. */
export async function firstLine(
  chunks: AsyncIterator<Uint8Array, undefined>,
): Promise<{ readonly line: string; readonly rest: Uint8Array } | undefined> {
  let bytes = Buffer.alloc(0);
  while (bytes.length <= LONGEST) {
    const next = await chunks.next();
    if (next.done === true) return undefined;
    bytes = Buffer.concat([bytes, next.value]);
    const end = bytes.indexOf(NEWLINE);
    if (end >= 0) return { line: bytes.toString('utf8', 0, end), rest: bytes.subarray(end + 1) };
  }
  return undefined;
}
