import { truncateText, isObject, tryParse } from '../../base/index.ts';
import { sanitizeLine, sanitizeFullLines } from '../../terminal/index.ts';

/** The call that an approval is about. */
export interface AskedCall {
  readonly title: string;
  /** JSON; undefined if it is not known. */
  readonly arguments?: string | undefined;
}

/**
 * Renders the complete arguments of a call for a decision: every argument by name, a multi-line text on its own lines, nothing
 * truncated. Control characters are made visible, so a carriage return hides nothing.
 */
export function callLines({ title, arguments: json }: AskedCall): readonly string[] {
  if (json === undefined)
    return [sanitizeLine(title), 'its arguments are not available here: do not decide by this line'];
  const input = tryParse(json);
  if (!isObject(input)) return sanitizeFullLines(json);
  const named = Object.entries(input).flatMap(([name, value]) => argumentLines(sanitizeLine(name), value));
  return named.length === 0 ? ['without arguments'] : named;
}

/** Renders a limited number of lines, followed by a line that says how to see the complete call. */
export function callPreview(call: AskedCall, whole: string): readonly string[] {
  const lines = callLines(call);
  const shown: string[] = [];
  let room = MOST_CHARACTERS;
  for (const line of lines.slice(0, MOST_LINES)) {
    const part = truncateText(line, room);
    shown.push(part);
    room -= part.length;
    if (room <= 0) break;
  }
  const left = lines.join('\n').length - shown.join('\n').length;
  return left === 0 ? shown : [...shown, `… ${left} more characters are not shown here: ${whole}`];
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
