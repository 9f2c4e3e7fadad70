import { isUtf8 } from 'node:buffer';
import type { FileHandle } from 'node:fs/promises';

/** The content of a file, as tools for text need it. */
export type FileContent =
  | { readonly type: 'text'; readonly text: string; readonly byteOrderMark: boolean }
  | { readonly type: 'binary' }
  | { readonly type: 'too-large' };

/**
 * Reads the first bytes of a file, or all if there are fewer. The reported size is not used, because it may be
 * wrong (`/proc`).
 */
export async function readBytes(handle: FileHandle, maxBytes: number, signal: AbortSignal): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for (let length = 0; length < maxBytes; ) {
    signal.throwIfAborted();
    const size = Math.min(PIECE, maxBytes - length);
    const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(size), 0, size);
    if (bytesRead === 0) break;
    pieces.push(buffer.subarray(0, bytesRead));
    length += bytesRead;
  }
  return Buffer.concat(pieces);
}

/** Text is UTF-8 without NUL bytes; everything else is binary. */
export function classifyContent(bytes: Buffer): FileContent {
  if (!isText(bytes)) return { type: 'binary' };
  const byteOrderMark = startsWithBom(bytes);
  return { type: 'text', text: bytes.toString('utf8', byteOrderMark ? 3 : 0), byteOrderMark };
}

export function isText(bytes: Uint8Array): boolean {
  return !bytes.includes(0) && isUtf8(bytes);
}

export function startsWithBom(bytes: Uint8Array): boolean {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
}

const PIECE = 256 * 1024;
