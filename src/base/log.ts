import type { JsonObject } from './json.ts';
import type { Redact } from './redact.ts';

/** Ordered from least to most severe. */
export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** One log record, for the operator of a running program. */
export interface LogEntry {
  readonly time: string;
  readonly level: LogLevel;
  readonly message: string;
  readonly fields: JsonObject;
}

export type LogSink = (entry: LogEntry) => void;

/** Fields of an entry that are expensive to compute can be a function, which is called only if the entry is written. */
export type Log = Readonly<
  Record<LogLevel, (message: string, fields?: JsonObject | (() => JsonObject)) => void>
>;

export interface LogOptions {
  readonly sinks: readonly LogSink[];
  /** Called for every entry, so that the level can change at run time. */
  readonly level: () => LogLevel;
  readonly redact: () => Redact;
  readonly now?: () => Date;
}

/** Creates a log that writes entries at or above the level to all sinks, with secrets redacted. */
export function createLog({ sinks, level, redact, now = () => new Date() }: LogOptions): Log {
  const logAt =
    (entryLevel: LogLevel) =>
    (message: string, fields: JsonObject | (() => JsonObject) = {}) => {
      if (LOG_LEVELS.indexOf(entryLevel) < LOG_LEVELS.indexOf(level())) return;
      const redactText = redact();
      const entry: LogEntry = {
        time: now().toISOString(),
        level: entryLevel,
        message: redactText(message),
        fields: Object.fromEntries(
          Object.entries(typeof fields === 'function' ? fields() : fields).map(([key, value]) => [
            key,
            redacted(value, redactText),
          ]),
        ),
      };
      for (const sink of sinks) sink(entry);
    };
  return { debug: logAt('debug'), info: logAt('info'), warn: logAt('warn'), error: logAt('error') };
}

/** A copy of the value with every string in it redacted. */
function redacted(value: unknown, redactText: Redact): unknown {
  if (typeof value === 'string') return redactText(value);
  if (Array.isArray(value)) return value.map((part) => redacted(part, redactText));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, redacted(part, redactText)]));
}
