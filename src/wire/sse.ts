import { type FrameReader, LineReader, MAX_LINE } from './lines.ts';

/**
 * Reads server-sent events and returns the `data` of each, with several data lines joined by LF. Comments,
 * event names, ids and retry hints are dropped: in every protocol we read, the payload contains its type. Lines
 * end with LF, CRLF or CR. `end` also returns an event without its final blank line; the caller checks whether
 * its payload is complete.
 */
export function sseReader(maxLine = MAX_LINE): FrameReader {
  const lines = new LineReader({ limit: { maxCharacters: maxLine }, ends: 'any' });
  let data: string | undefined;
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

  return {
    push(bytes) {
      const out: string[] = [];
      lines.read(bytes, (line) => takeLine(line, out));
      return out;
    },
    end() {
      const out: string[] = [];
      for (const line of lines.end()) takeLine(line, out);
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

function fieldData(line: string): string | undefined {
  if (!line.startsWith('data')) return undefined;
  if (line.length === 4) return '';
  if (line.charCodeAt(4) !== COLON) return undefined;
  return line.charCodeAt(5) === SPACE ? line.slice(6) : line.slice(5);
}

const FIELD = /^(?::|(?:event|id|retry)(?::|$))/;
const MAX_STRAY = 16 * 1024;
const SPACE = 32;
const COLON = 58;
