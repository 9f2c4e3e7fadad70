import { isObject, type LogEntry, type LogLevel, stringOf, tryParse } from '../../base/index.ts';
import { type TextColors, sanitizeLine, fitWidth } from '../../terminal/index.ts';

/** Longer values are truncated; `polypod logs --json` shows them in full. */
const WIDEST = 120;

/** Formats an entry of the daemon's log for people, with a newline. */
export function logLine({ time, level, message, fields }: LogEntry, paint: TextColors): string {
  const rest = Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => paint.dim(`${sanitizeLine(key)}=${sanitizeLine(shown(value))}`));
  return `${[paint.dim(clock(time)), painted(level, paint), sanitizeLine(message), ...rest].join(' ')}\n`;
}

/** Text unchanged; objects by name and state if they have them; everything else as truncated JSON. */
function shown(value: unknown): string {
  if (typeof value === 'string') return value;
  const named = Array.isArray(value) && value.length > 0 ? value.map(nameOf) : [];
  return named.length > 0 && named.every((name) => name !== '')
    ? named.join(',')
    : fitWidth(JSON.stringify(value), WIDEST);
}

function nameOf(value: unknown): string {
  if (!isObject(value)) return '';
  const [name, state] = [stringOf(value.name), stringOf(value.state)];
  return name === '' || state === '' ? name : `${name}:${state}`;
}

/** Parses a line of the log file; undefined if it is not an entry. */
export function entryIn(line: string): LogEntry | undefined {
  const value = tryParse(line);
  if (!isObject(value)) return undefined;
  const { time, level, message, ...fields } = value;
  return { time: stringOf(time), level: levelOf(level), message: stringOf(message), fields };
}

function levelOf(value: unknown): LogLevel {
  return value === 'debug' || value === 'warn' || value === 'error' ? value : 'info';
}

function painted(level: LogLevel, paint: TextColors): string {
  const word = level.padEnd(5);
  if (level === 'error' || level === 'warn') return paint.red(word);
  return level === 'info' ? paint.green(word) : paint.dim(word);
}

function clock(time: string): string {
  const at = new Date(time);
  return Number.isNaN(at.getTime()) ? sanitizeLine(time) : at.toTimeString().slice(0, 8);
}
