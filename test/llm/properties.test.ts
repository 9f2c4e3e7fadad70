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

  it('gives the same events for any chunking of any stream', () => {
    fc.assert(
      fc.property(oneOfMine, fc.array(fc.integer({ min: 0, max: 300 })), ({ bytes }, cuts) => {
        expect(decodeAll(provider, splitBytes(bytes, cuts))).toEqual(decodeAll(provider, [bytes]));
      }),
    );
  });

  it('gives balanced output for any frames in any order', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...payloads), { maxLength: 60 }), (frames) => {
        expectBalanced(decodePayloads(provider, frames));
      }),
      { numRuns: 500 },
    );
  });

  it('gives balanced output for a stream whose frames are shuffled, doubled or lost', () => {
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

  it('survives frames with any value in any place', () => {
    const spoilt = fc
      .tuple(fc.constantFrom(...payloads), fc.nat(), fc.jsonValue({ maxDepth: 2 }))
      .map(([payload, at, value]) => JSON.stringify(spoil(tryParse(payload), { at }, value)) ?? 'null');
    fc.assert(
      fc.property(fc.array(spoilt, { maxLength: 20 }), (frames) => {
        expectBalanced(decodePayloads(provider, frames));
      }),
      { numRuns: 500 },
    );
  });
});

function decodePayloads(provider: Provider, payloads: readonly string[]): readonly LlmEvent[] {
  const decoder = answerDecoder(provider, 'seed');
  return [...payloads.flatMap((payload) => decoder.take(payload)), ...decoder.end()];
}

/** A copy in which the value at one place, counted through the whole tree, is replaced. */
function spoil(tree: unknown, place: { at: number }, value: unknown): unknown {
  if (place.at-- % 17 === 0) return value;
  if (Array.isArray(tree)) return tree.map((child) => spoil(child, place, value));
  if (!isObject(tree)) return tree;
  return Object.fromEntries(Object.entries(tree).map(([key, child]) => [key, spoil(child, place, value)]));
}
