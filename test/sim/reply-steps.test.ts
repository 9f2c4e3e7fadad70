import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Reply, ReplyPart } from '../../src/sim/script/reply.ts';
import { splitText, replySteps } from '../../src/sim/script/reply-steps.ts';

const usage = {
  inputTokens: 0,
  outputTokens: 0,
  cacheReadInputTokens: 0,
  cacheCreationInputTokens: 0,
  reasoningTokens: 0,
};
const text = fc.string({ unit: 'binary', maxLength: 60 });
const size = fc.integer({ min: 1, max: 9 });

test('splitText returns whole characters that join to the text', () => {
  fc.assert(
    fc.property(text, size, (input, chunkSize) => {
      const cut = [...splitText(input, chunkSize)];
      expect(cut.join('')).toBe(input);
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
      const states = parts.map(() => ({ state: 'new', text: '' }));
      for (const step of replySteps(reply)) {
        const state = states[step.index];
        if (state === undefined) throw new Error('a step without a part');
        expect(state.state).toBe(step.type === 'open' ? 'new' : 'open');
        state.state = step.type === 'close' ? 'closed' : 'open';
        if (step.type === 'delta') state.text += step.text;
      }
      expect(states).toEqual(parts.map((part) => ({ state: 'closed', text: part.text })));
    }),
  );
});

function call(name: string): ReplyPart {
  return { type: 'call', id: name, name, text: 'aabb', chunkSize: 2 };
}

test('interleaved calls alternate', () => {
  const reply: Reply = { parts: [call('a'), call('b')], stop: 'tool-use', usage, interleave: true };
  expect([...replySteps(reply)].map((step) => `${step.type} ${step.index}`)).toEqual([
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
