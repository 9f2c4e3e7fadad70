import { isUtf8 } from 'node:buffer';
import type { FileHandle } from 'node:fs/promises';

/** What a file holds, as far as tools for text care. */
export type FileContent =
  | { readonly type: 'text'; readonly text: string; readonly byteOrderMark: boolean }
  | { readonly type: 'binary' }
  | { readonly type: 'too-large' };

/** Reads a whole file of at most so many bytes. */
export async function readContent(
  handle: FileHandle,
  most: number,
  signal: AbortSignal,
): Promise<FileContent> {
  const bytes = await readBytes(handle, most + 1, signal);
  return bytes.length > most ? { type: 'too-large' } : contentOf(bytes);
}

/** The first bytes of a file, from where it is read; all of it if there are fewer. Its size may be a lie (`/proc`). */
export async function readBytes(handle: FileHandle, most: number, signal: AbortSignal): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for (let length = 0; length < most; ) {
    signal.throwIfAborted();
    const size = Math.min(PIECE, most - length);
    const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(size), 0, size);
    if (bytesRead === 0) break;
    pieces.push(buffer.subarray(0, bytesRead));
    length += bytesRead;
  }
  return Buffer.concat(pieces);
}

/** Text is UTF-8 without zero bytes; all else is binary. */
export function contentOf(bytes: Buffer): FileContent {
  if (!isText(bytes)) return { type: 'binary' };
  const byteOrderMark = startsWithMark(bytes);
  return { type: 'text', text: bytes.toString('utf8', byteOrderMark ? 3 : 0), byteOrderMark };
}

export function isText(bytes: Uint8Array): boolean {
  return !bytes.includes(0) && isUtf8(bytes);
}

export function startsWithMark(bytes: Uint8Array): boolean {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
}

const PIECE = 256 * 1024;
