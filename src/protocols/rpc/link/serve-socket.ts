import type { Socket } from 'node:net';
import { messageOf } from '../../../base/index.ts';
import { firstLine } from './first-line.ts';
import { encodeGreeting } from './greeting.ts';
import { readLinkHeader } from './link-header.ts';
import { linkParts, type LinkContext } from './link-parts.ts';
import { serveRpc } from './serve.ts';

/** Serves one link on a socket: reads the header, sends the greeting, and then serves the protocol. */
export async function serveSocket(socket: Socket, around: LinkContext, signal: AbortSignal): Promise<void> {
  // The client may end its input before it has read all answers.
  const chunks: AsyncIterator<Uint8Array, undefined> = socket.iterator({ destroyOnReturn: false });
  const first = await firstLine(chunks);
  if (first === undefined) return void socket.destroy();
  const opened = await linkFor(first.line, around);
  if ('refused' in opened) return void socket.end(encodeGreeting(opened));
  socket.write(encodeGreeting({ open: true, notices: opened.notices }));
  await serveRpc({ input: behind(first.rest, chunks), output: socket }, opened.parts, signal);
  socket.end();
}

async function linkFor(line: string, around: LinkContext) {
  try {
    return await linkParts(readLinkHeader(line), around);
  } catch (thrown) {
    around.onRefused();
    return { refused: messageOf(thrown) };
  }
}

async function* behind(
  rest: Uint8Array,
  chunks: AsyncIterator<Uint8Array, undefined>,
): AsyncGenerator<Uint8Array> {
  if (rest.length > 0) yield rest;
  for (let next = await chunks.next(); next.done !== true; next = await chunks.next()) yield next.value;
}
