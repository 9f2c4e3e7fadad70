import { type FrameReader, MAX_LINE, TextPieces } from './lines.ts';

/**
 * Reads server-sent events and hands out the `data` of each, several data lines joined by LF. Comments, event names,
 * ids and retry hints are dropped: in every protocol we read, the payload says what it is. Lines end with LF, CRLF or CR.
 * An event that the stream's end cuts off before its blank line still comes out of `end`; whether its payload is whole
 * is for the reader of the payload to say.
 */
export function sseReader(maxLine = MAX_LINE): FrameReader {
  const text = new TextPieces(maxLine);
  let data: string | undefined;
  let afterCr = false;
  let stray = '';

  const takeLine = (line: string, out: string[]): void => {
    if (line === '') {
      // Without any data there is no event, whatever its name.
      if (data) out.push(data);
      data = undefined;
      return;
    }
    const value = dataOf(line);
    if (value !== undefined) data = data === undefined ? value : `${data}\n${value}`;
    else if (!FIELD.test(line) && stray.length < MAX_STRAY) stray += `${line}\n`;
  };

  const readChunk = (chunk: string, out: string[]): void => {
    const hasCr = chunk.includes('\r');
    // A CR that ended the previous chunk has ended its line already: the LF of that CRLF is not a second line end.
    let from = afterCr && chunk.charCodeAt(0) === LF ? 1 : 0;
    if (chunk !== '') afterCr = chunk.charCodeAt(chunk.length - 1) === CR;
    for (let at = lineEnd(chunk, from, hasCr); at >= 0; at = lineEnd(chunk, from, hasCr)) {
      takeLine(text.completeWith(chunk.slice(from, at)), out);
      from = chunk.charCodeAt(at) === CR && chunk.charCodeAt(at + 1) === LF ? at + 2 : at + 1;
    }
    text.keep(from === 0 ? chunk : chunk.slice(from));
  };

  return {
    push(bytes) {
      const out: string[] = [];
      readChunk(text.decode(bytes), out);
      return out;
    },
    end() {
      const out: string[] = [];
      takeLine(text.completeWith(text.rest()), out);
      takeLine('', out);
      return out;
    },
    stray: () => stray,
  };
}

/** One event in the bytes of the wire; the name is left out where the protocol has none. */
export function encodeSse(data: string, event?: string): string {
  const lines = data.includes('\n') ? data.split('\n').join('\ndata: ') : data;
  return event === undefined ? `data: ${lines}\n\n` : `event: ${event}\ndata: ${lines}\n\n`;
}

function lineEnd(chunk: string, from: number, hasCr: boolean): number {
  const lf = chunk.indexOf('\n', from);
  if (!hasCr) return lf;
  const cr = chunk.indexOf('\r', from);
  if (cr < 0) return lf;
  return lf < 0 ? cr : Math.min(lf, cr);
}

function dataOf(line: string): string | undefined {
  if (!line.startsWith('data')) return undefined;
  if (line.length === 4) return '';
  if (line.charCodeAt(4) !== COLON) return undefined;
  return line.charCodeAt(5) === SPACE ? line.slice(6) : line.slice(5);
}

const FIELD = /^(?::|(?:event|id|retry)(?::|$))/;
const MAX_STRAY = 16 * 1024;
const LF = 10;
const CR = 13;
const SPACE = 32;
const COLON = 58;
