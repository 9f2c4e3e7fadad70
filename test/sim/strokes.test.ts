import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Reply, ReplyPart } from '../../src/sim/script/reply.ts';
import { pieces, strokes } from '../../src/sim/script/reply-steps.ts';

const usage = {
  inputTokens: 0,
  outputTokens: 0,
  cacheReadInputTokens: 0,
  cacheCreationInputTokens: 0,
  reasoningTokens: 0,
};
const text = fc.string({ unit: 'binary', maxLength: 60 });
const size = fc.integer({ min: 1, max: 9 });

test('the pieces of any text are whole characters, and together the text', () => {
  fc.assert(
    fc.property(text, size, (whole, chunkSize) => {
      const cut = [...pieces(whole, chunkSize)];
      expect(cut.join('')).toBe(whole);
      expect(cut.every((piece) => piece.length > 0 && !/\p{Surrogate}/u.test(piece))).toBe(true);
    }),
  );
});

const part: fc.Arbitrary<ReplyPart> = fc.oneof(
  fc.record({ type: fc.constantFrom('text', 'refusal'), text, chunkSize: size }),
  fc.record({ type: fc.constant('thinking'), text, chunkSize: size, signature: fc.constant('') }),
  fc.record({
    type: fc.constant('call'),
    id: fc.constant('a'),
    name: fc.constant('b'),
    text,
    chunkSize: size,
  }),
);

test('every part opens once, grows to its text, and closes once, interleaved or not', () => {
  fc.assert(
    fc.property(fc.array(part, { maxLength: 6 }), fc.boolean(), (parts, interleave) => {
      const reply: Reply = { parts, stop: 'end-turn', usage, interleave };
      const seen = parts.map(() => ({ state: 'new', text: '' }));
      for (const stroke of strokes(reply)) {
        const one = seen[stroke.index];
        if (one === undefined) throw new Error('a stroke of no part');
        expect(one.state).toBe(stroke.type === 'open' ? 'new' : 'open');
        one.state = stroke.type === 'close' ? 'closed' : 'open';
        if (stroke.type === 'delta') one.text += stroke.text;
      }
      expect(seen).toEqual(parts.map((given) => ({ state: 'closed', text: given.text })));
    }),
  );
});

function call(name: string): ReplyPart {
  return { type: 'call', id: name, name, text: 'aabb', chunkSize: 2 };
}

test('interleaved calls take turns', () => {
  const reply: Reply = { parts: [call('a'), call('b')], stop: 'tool-use', usage, interleave: true };
  expect([...strokes(reply)].map((stroke) => `${stroke.type} ${stroke.index}`)).toEqual([
    'open 0',
    'open 1',
    'delta 0',
    'delta 1',
    'delta 0',
    'delta 1',
    'close 0',
    'close 1',
  ]);
});
