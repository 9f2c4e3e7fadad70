import { isObject, type LogEntry, type LogLevel, stringOf, tryParse } from '../base/index.ts';
import type { Brush } from './paint.ts';

/** An entry of the daemon's log as people read it, with its newline. */
export function logLine({ time, level, message, fields }: LogEntry, paint: Brush): string {
  const rest = Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => paint.dim(`${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`));
  return `${[paint.dim(clock(time)), painted(level, paint), message, ...rest].join(' ')}\n`;
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
  return Number.isNaN(at.getTime()) ? time : at.toTimeString().slice(0, 8);
}
