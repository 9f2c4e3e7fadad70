import { type FrameReader, MAX_LINE, TextPieces } from './lines.ts';

/**
 * Reads server-sent events and returns the `data` of each, with several data lines joined by LF. Comments,
 * event names, ids and retry hints are dropped: in every protocol we read, the payload contains its type. Lines
 * end with LF, CRLF or CR. `end` also returns an event without its final blank line; the caller checks whether
 * its payload is complete.
 */
export function sseReader(maxLine = MAX_LINE): FrameReader {
  const text = new TextPieces(maxLine);
  let data: string | undefined;
  let afterCr = false;
  let stray = '';

  const takeLine = (line: string, out: string[]): void => {
    if (line === '') {
      // Without data there is no event, even if it has a name.
      if (data) out.push(data);
      data = undefined;
      return;
    }
    const value = fieldData(line);
    if (value !== undefined) data = data === undefined ? value : `${data}\n${value}`;
    else if (!FIELD.test(line) && stray.length < MAX_STRAY) stray += `${line}\n`;
  };

  const readChunk = (chunk: string, out: string[]): void => {
    const hasCr = chunk.includes('\r');
    // A CR at the end of the previous chunk has already ended its line; the LF of that CRLF does not end
    // another.
    let start = afterCr && chunk.charCodeAt(0) === LF ? 1 : 0;
    if (chunk !== '') afterCr = chunk.charCodeAt(chunk.length - 1) === CR;
    for (let end = lineEnd(chunk, start, hasCr); end >= 0; end = lineEnd(chunk, start, hasCr)) {
      takeLine(text.completeWith(chunk.slice(start, end)), out);
      start = chunk.charCodeAt(end) === CR && chunk.charCodeAt(end + 1) === LF ? end + 2 : end + 1;
    }
    text.keep(start === 0 ? chunk : chunk.slice(start));
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

/** Encodes one event; omit the name if the protocol has none. */
export function encodeSse(data: string, event?: string): string {
  const lines = data.includes('\n') ? data.split('\n').join('\ndata: ') : data;
  return event === undefined ? `data: ${lines}\n\n` : `event: ${event}\ndata: ${lines}\n\n`;
}

function lineEnd(chunk: string, start: number, hasCr: boolean): number {
  const lf = chunk.indexOf('\n', start);
  if (!hasCr) return lf;
  const cr = chunk.indexOf('\r', start);
  if (cr < 0) return lf;
  return lf < 0 ? cr : Math.min(lf, cr);
}

function fieldData(line: string): string | undefined {
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
