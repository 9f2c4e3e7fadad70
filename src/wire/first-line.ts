import { LineReader } from './lines.ts';

/** Longer than any system prompt on a command line. */
const LONGEST = 4 * 1024 * 1024;

/** Reads the first line of a stream and the bytes after it; undefined if the stream ends first or the line is too long. */
export async function firstLine(
  chunks: AsyncIterator<Uint8Array, undefined>,
): Promise<{ readonly line: string; readonly rest: Uint8Array } | undefined> {
  const lines = new LineReader({ limit: { maxBytes: LONGEST }, onInvalid: () => undefined });
  for (let next = await chunks.next(); next.done !== true; next = await chunks.next()) {
    const cut = lines.cut(next.value);
    if (cut?.line !== undefined) return { line: cut.line, rest: cut.rest };
    if (cut !== undefined) return undefined;
  }
  return undefined;
}
