import type { shape } from '../../base/index.ts';

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
/** The maximum delay of a timer. */
const MAX_MS = 2 ** 31 - 1;

/** A duration such as `90s` or `5m`, converted to milliseconds; a plain number means seconds. */
export const DURATION: shape.Shape<number> = {
  schema: { type: ['string', 'number'] },
  read: (value, path, report) => {
    const ms = parseMilliseconds(value);
    if (ms !== undefined && ms <= MAX_MS) return ms;
    report({ path, at: 'value', text: 'must be a time of at most 24 days, such as 90s, 5m or 2h' });
    return undefined;
  },
};

function parseMilliseconds(value: unknown): number | undefined {
  if (typeof value === 'number') return value >= 0 ? value * 1000 : undefined;
  const [, amount, unit = ''] = /^(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)$/.exec(String(value).trim()) ?? [];
  const factor = UNITS[unit];
  return amount === undefined || factor === undefined ? undefined : Number(amount) * factor;
}
