import type { StopReason } from './event.ts';

/** Why a model did not complete its answer, although the provider reported no failure. */
export type Shortfall = 'refusal' | 'content-filter' | 'max-tokens' | 'context-full' | 'empty';

/** Returns undefined if the model completed its answer. */
export function shortfallOf(stopReason: StopReason | undefined, hasText: boolean): Shortfall | undefined {
  switch (stopReason) {
    case 'refusal':
    case 'content-filter':
    case 'max-tokens':
    case 'context-full':
      return stopReason;
    default:
      return hasText ? undefined : 'empty';
  }
}

export const SHORTFALL_REASONS: Readonly<Record<Shortfall, string>> = {
  refusal: 'the model declined to answer',
  'content-filter': "the provider's filter withheld the answer",
  'max-tokens': 'the answer reached the token limit and is incomplete',
  'context-full': "the model's context is full, and the answer is incomplete",
  empty: 'the answer of the model contains no text',
};
