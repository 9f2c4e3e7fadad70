import { beginningOf, isObject, tryParse } from '../../base/index.ts';
import { sanitizeLine, sanitizeFullLines } from '../../terminal/index.ts';

/** What is decided about a call. */
export interface AskedCall {
  readonly title: string;
  /** JSON text; undefined where nobody could tell. */
  readonly arguments?: string | undefined;
}

/**
 * All that a call would be given, for whoever decides about it: every argument by its name, a text of several lines on lines
 * of their own, nothing cut. Control characters show as pictures; a carriage return hides nothing.
 */
export function callLines({ title, arguments: json }: AskedCall): readonly string[] {
  if (json === undefined)
    return [sanitizeLine(title), 'its arguments are not known here: do not decide by this line'];
  const input = tryParse(json);
  if (!isObject(input)) return sanitizeFullLines(json);
  const named = Object.entries(input).flatMap(([name, value]) => argumentLines(sanitizeLine(name), value));
  return named.length === 0 ? ['without arguments'] : named;
}

/** At most so much of it; that something is left out is told in a line of its own, with where all of it is to be seen. */
export function callGlance(call: AskedCall, whole: string): readonly string[] {
  const lines = callLines(call);
  const glance: string[] = [];
  let room = MOST_CHARACTERS;
  for (const line of lines.slice(0, MOST_LINES)) {
    const part = beginningOf(line, room);
    glance.push(part);
    room -= part.length;
    if (room <= 0) break;
  }
  const left = lines.join('\n').length - glance.join('\n').length;
  return left === 0 ? glance : [...glance, `… ${left} characters more are not shown here: ${whole}`];
}

const MOST_LINES = 40;
const MOST_CHARACTERS = 4_000;

function argumentLines(name: string, value: unknown): readonly string[] {
  const [first = '', ...others] = sanitizeFullLines(
    typeof value === 'string' ? value : JSON.stringify(value, undefined, 2),
  );
  return others.length === 0
    ? [`${name}: ${first}`]
    : [`${name}:`, ...[first, ...others].map((line) => `  ${line}`)];
}
