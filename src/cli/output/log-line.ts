import { isObject, type LogEntry, type LogLevel, stringOf, tryParse } from '../../base/index.ts';
import { type Brush, sanitizeLine, fitWidth } from '../../terminal/index.ts';

/** What is longer is for programs: polypod logs --json shows all of it. */
const WIDEST = 120;

/** An entry of the daemon's log as people read it, with its newline. */
export function logLine({ time, level, message, fields }: LogEntry, paint: Brush): string {
  const rest = Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => paint.dim(`${sanitizeLine(key)}=${sanitizeLine(shown(value))}`));
  return `${[paint.dim(clock(time)), painted(level, paint), sanitizeLine(message), ...rest].join(' ')}\n`;
}

/** Text as it is; of things that have names, these, with the state of those that have one; all else as JSON, not too long. */
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

/** A line of the log file as an entry; undefined if it is none. */
export function entryIn(line: string): LogEntry | undefined {
  const value = tryParse(line);
  if (!isObject(value)) return undefined;
  const { time, level, message, ...fields } = value;
  return { time: stringOf(time), level: levelOf(level), message: stringOf(message), fields };
}

function levelOf(value: unknown): LogLevel {
  return value === 'debug' || value === 'warn' || value === 'error' ? value : 'info';
}

function painted(level: LogLevel, paint: Brush): string {
  const word = level.padEnd(5);
  if (level === 'error' || level === 'warn') return paint.red(word);
  return level === 'info' ? paint.green(word) : paint.dim(word);
}

function clock(time: string): string {
  const at = new Date(time);
  return Number.isNaN(at.getTime()) ? sanitizeLine(time) : at.toTimeString().slice(0, 8);
}
