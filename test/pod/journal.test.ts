import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { encodeEvent } from '../../src/pod/journal/journal.ts';

it('a delta is written as JSON.stringify would write it', () => {
  const delta = fc.oneof(
    fc.record({
      type: fc.constantFrom('text' as const, 'thinking' as const),
      text: fc.string({ unit: 'binary' }),
    }),
    fc.record({ type: fc.constant('input-json' as const), json: fc.string({ unit: 'binary' }) }),
  );
  fc.assert(
    fc.property(fc.nat(), fc.nat(), delta, (seq, index, content) => {
      const event = { seq, type: 'block-delta' as const, index, delta: content };
      expect(encodeEvent(event)).toBe(JSON.stringify(event));
    }),
  );
});
