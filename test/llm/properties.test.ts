import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isObject, tryParse } from '../../src/base/index.ts';
import { answerDecoder, type LlmEvent, type Provider } from '../../src/llm/index.ts';
import { providers } from '../../src/registry.ts';
import { splitBytes } from '../wire/chunks.ts';
import { expectBalanced } from './balance.ts';
import { decodeAll, OWN, payloadsOf, RECORDED, recordingsIn } from './recordings.ts';

const recordings = [...recordingsIn(OWN), ...recordingsIn(RECORDED)];

describe.each(providers.map((provider) => [provider.name, provider] as const))('%s', (_name, provider) => {
  const mine = recordings.filter((recording) => recording.provider === provider);
  const payloads = mine.flatMap(payloadsOf);
  const oneOfMine = fc.constantFrom(...mine);

  it('emits the same events for any chunking of any stream', () => {
    fc.assert(
      fc.property(oneOfMine, fc.array(fc.integer({ min: 0, max: 300 })), ({ bytes }, cuts) => {
        expect(decodeAll(provider, splitBytes(bytes, cuts))).toEqual(decodeAll(provider, [bytes]));
      }),
    );
  });

  it('emits balanced events for any frames in any order', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...payloads), { maxLength: 60 }), (frames) => {
        expectBalanced(decodePayloads(provider, frames));
      }),
      { numRuns: 500 },
    );
  });

  it('emits balanced events for a stream with shuffled, duplicated or missing frames', () => {
    const disturbed = oneOfMine
      .map((recording) => payloadsOf(recording).slice(0, 80))
      .chain((frames) => fc.shuffledSubarray([...frames, ...frames.slice(0, 5)]));
    fc.assert(
      fc.property(disturbed, (frames) => {
        expectBalanced(decodePayloads(provider, frames));
      }),
      { numRuns: 300 },
    );
  });

  it('does not throw for any value at any place in a frame', () => {
    const damagedPayload = fc
      .tuple(fc.constantFrom(...payloads), fc.nat(), fc.jsonValue({ maxDepth: 2 }))
      .map(([payload, at, value]) => JSON.stringify(damage(tryParse(payload), { at }, value)) ?? 'null');
    fc.assert(
      fc.property(fc.array(damagedPayload, { maxLength: 20 }), (frames) => {
        expectBalanced(decodePayloads(provider, frames));
      }),
      { numRuns: 500 },
    );
  });
});

function decodePayloads(provider: Provider, payloads: readonly string[]): readonly LlmEvent[] {
  const decoder = answerDecoder(provider, 'seed');
  return [...payloads.flatMap((payload) => decoder.pushPayload(payload)), ...decoder.end()];
}

/** A copy with the n-th value of the tree replaced. */
function damage(tree: unknown, counter: { at: number }, value: unknown): unknown {
  if (counter.at-- % 17 === 0) return value;
  if (Array.isArray(tree)) return tree.map((child) => damage(child, counter, value));
  if (!isObject(tree)) return tree;
  return Object.fromEntries(Object.entries(tree).map(([key, child]) => [key, damage(child, counter, value)]));
}
