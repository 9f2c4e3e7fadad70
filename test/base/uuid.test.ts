import { describe, expect, it } from 'vitest';
import { randomDigits, uuidv7, uuidv7Time } from '../../src/base/index.ts';

describe('a UUID version 7', () => {
  it('contains its time, sorts by it, and is different each time', () => {
    const ids = Array.from({ length: 300 }, () => uuidv7(1_700_000_000_000));
    expect(new Set(ids).size).toBe(300);
    for (const id of ids) expect(id).toMatch(/^018bcfe5-6800-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(uuidv7Time(uuidv7(12))).toBe(12);
    expect(uuidv7(12) < uuidv7(1_700_000_000_000)).toBe(true);
  });
});

describe('random digits', () => {
  it('are of the given length, and take every value in every place', () => {
    const digits = Array.from({ length: 2_000 }, () => randomDigits(24));
    expect(new Set(digits).size).toBe(2_000);
    for (let place = 0; place < 24; place += 1)
      expect(new Set(digits.map((text) => text[place])).size).toBe(16);
    expect(randomDigits(8)).toMatch(/^[0-9a-f]{8}$/);
  });
});
