import type { JsonObject } from './json.ts';
import type { Redact } from './redact.ts';

/** From the least to the most important. */
export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** One thing that happened, for whoever looks after a running program. */
export interface LogEntry {
  readonly time: string;
  readonly level: LogLevel;
  readonly message: string;
  readonly fields: JsonObject;
}

export type LogSink = (entry: LogEntry) => void;

export type Log = Readonly<Record<LogLevel, (message: string, fields?: JsonObject) => void>>;

export interface LogOptions {
  readonly sinks: readonly LogSink[];
  /** Asked at every entry, so that it may change while the program runs. */
  readonly level: () => LogLevel;
  readonly redact: () => Redact;
  readonly now?: () => Date;
}

/** A log whose entries go to all sinks, without what is less important than the level, and without secrets. */
export function logTo({ sinks, level, redact, now = () => new Date() }: LogOptions): Log {
  const at =
    (own: LogLevel) =>
    (message: string, fields: JsonObject = {}) => {
      if (LOG_LEVELS.indexOf(own) < LOG_LEVELS.indexOf(level())) return;
      const clean = redact();
      const entry: LogEntry = {
        time: now().toISOString(),
        level: own,
        message: clean(message),
        fields: Object.fromEntries(
          Object.entries(fields).map(([key, value]) => [key, redacted(value, clean)]),
        ),
      };
      for (const sink of sinks) sink(entry);
    };
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

/** The value with every text in it made harmless. */
function redacted(value: unknown, clean: Redact): unknown {
  if (typeof value === 'string') return clean(value);
  if (Array.isArray(value)) return value.map((part) => redacted(part, clean));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, redacted(part, clean)]));
}
