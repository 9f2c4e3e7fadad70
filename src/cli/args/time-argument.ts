import { PolypodError } from '../../base/index.ts';

const UNITS: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 7 * 86_400_000,
};

/** Parses a duration such as `30d` or `90m` to milliseconds; undefined for any other text. */
export function spanIn(text: string): number | undefined {
  const [, amount, unit = ''] = /^(\d{1,6})(s|m|h|d|w)$/.exec(text.trim()) ?? [];
  const factor = UNITS[unit];
  return amount === undefined || factor === undefined ? undefined : Number(amount) * factor;
}

/** Parses the time that an option names: a date, a time, or a duration before or after now. */
export function momentIn(option: string, text: string, direction: 'ago' | 'ahead', now = new Date()): Date {
  const span = spanIn(text);
  if (span !== undefined) return new Date(now.getTime() + (direction === 'ago' ? -span : span));
  const isDate = /^\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?$/.test(
    text,
  );
  const time = isDate ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(time)) return new Date(time);
  throw new PolypodError(
    'bad-request',
    `--${option} takes a date such as 2026-01-31, a time such as 2026-01-31T12:00Z, or a duration such as 30d or 2h, not "${text}"`,
  );
}
