import type { shape } from '../../base/index.ts';

const UNITS: Readonly<Record<string, number>> = { kb: 1e3, mb: 1e6, gb: 1e9, tb: 1e12 };

/** A size such as `512MB` or `4GB`, or `none` for no limit. */
export const BYTE_SIZE: shape.Shape<number> = {
  schema: { type: 'string' },
  read: (value, path, report) => {
    const bytes = parseBytes(value);
    if (bytes !== undefined) return bytes;
    report({ path, at: 'value', text: 'must be a size such as 512MB or 4GB, or none' });
    return undefined;
  },
};

function parseBytes(value: unknown): number | undefined {
  const word = String(value).trim().toLowerCase();
  if (word === 'none') return Number.POSITIVE_INFINITY;
  const [, amount, unit = ''] = /^(\d+(?:\.\d+)?)\s*(kb|mb|gb|tb)$/.exec(word) ?? [];
  const factor = UNITS[unit];
  const bytes = amount === undefined || factor === undefined ? 0 : Math.floor(Number(amount) * factor);
  return bytes > 0 ? bytes : undefined;
}
