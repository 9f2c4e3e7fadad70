/** An event as it is written: the JSON of it, which begins with its number, and that number. */
export interface FeedRecord {
  readonly seq: number;
  readonly text: string;
}

const START = '{"seq":';
const REST = ',"type":"rest"}';

/**
 * The number that a record begins with; undefined if it begins otherwise. Asked of every record that is read or written,
 * so it is read off the text: to parse the whole of it costs far more.
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

/** What stands at the end of a feed whose writer closed it: no event, it takes no number and nobody is told of it. */
export function restAfter(seq: number): string {
  return `${START}${seq}${REST}`;
}

export function isRest(text: string): boolean {
  return text.endsWith(REST) && text === restAfter(seqIn(text) ?? 0);
}

/** NaN past the end, which is no digit. */
function digitAt(text: string, index: number): number {
  return text.charCodeAt(index) - 48;
}
