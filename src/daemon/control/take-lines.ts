import type { Socket } from 'node:net';
import { PolypodError } from '../../base/index.ts';

/** Far more than a prompt with images takes. */
const LONGEST_LINE = 64 * 1024 * 1024;
const NEWLINE = 10;

/** One line of a link, and a way to have the socket and what came behind the line. */
export interface TakenLine {
  readonly text: string;
  /** Stops the reading, so that somebody else may read on; answers with the bytes that came behind this line. */
  readonly rest: () => Uint8Array;
}

/** The lines of a link, one at a time: the next is read when the one before is done with. Blank ones are skipped. */
export async function* takeLines(socket: Socket): AsyncGenerator<TakenLine> {
  let pieces: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
    let bytes = chunk as Uint8Array;
    for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE)) {
      const text = Buffer.concat([...pieces, bytes.subarray(0, end)]).toString('utf8').trim();
      [pieces, length] = [[], 0];
      bytes = bytes.subarray(end + 1);
      const behind = bytes;
      if (text !== '') yield { text, rest: () => behind };
    }
    if (bytes.length === 0) continue;
    pieces.push(bytes);
    length += bytes.length;
    if (length > LONGEST_LINE) throw new PolypodError('bad-request', 'a line is too long');
  }
}
