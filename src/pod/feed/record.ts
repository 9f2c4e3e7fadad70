/** An event as written: its JSON text, which starts with its number, and that number. */
export interface FeedRecord {
  readonly seq: number;
  readonly text: string;
}

const START = '{"seq":';
const REST = ',"type":"rest"}';

/**
 * Returns the number at the start of a record, or undefined. It is read from the text, because it is needed for every record and
 * parsing the whole record would cost far more.
 */
export function seqIn(text: string): number | undefined {
  if (!text.startsWith(START)) return undefined;
  let next = START.length;
  let seq = 0;
  for (let digit = digitAt(text, next); digit >= 0 && digit <= 9; digit = digitAt(text, next)) {
    seq = seq * 10 + digit;
    next += 1;
  }
  const isNumber = next > START.length && (text[next] === ',' || text[next] === '}');
  return isNumber ? seq : undefined;
}

/** The record at the end of a feed that was closed. It is not an event: it has no number and is not published. */
export function restAfter(seq: number): string {
  return `${START}${seq}${REST}`;
}

export function isRest(text: string): boolean {
  return text.endsWith(REST) && text === restAfter(seqIn(text) ?? 0);
}

/** NaN past the end, which is not a digit. */
function digitAt(text: string, index: number): number {
  return text.charCodeAt(index) - 48;
}
