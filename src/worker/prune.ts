import { type Item, textContent, textOf, type ItemOf } from '../llm/index.ts';
import { tokensOf } from './tokens.ts';

export interface PrunePolicy {
  /** The newest items, up to so many tokens, stay as they are. */
  readonly protectTokens: number;
  /** Below this saving nothing is changed: every change costs the provider's cache of the prompt. */
  readonly leastSaving: number;
}

export const DEFAULT_PRUNE: PrunePolicy = { protectTokens: 8000, leastSaving: 4096 };

/**
 * The conversation as it is sent: bodies of old tool results give way to one line. The conversation itself never
 * changes, and every call keeps its result.
 */
export function pruned(items: readonly Item[], policy: PrunePolicy = DEFAULT_PRUNE): readonly Item[] {
  let kept = 0;
  let saving = 0;
  const shortened = items.toReversed().map((item) => {
    kept += tokensOf(item);
    if (kept <= policy.protectTokens || item.type !== 'tool-result') return item;
    const short = shortenedResult(item);
    saving += tokensOf(item) - tokensOf(short);
    return short;
  });
  return saving >= policy.leastSaving ? shortened.toReversed() : items;
}

function shortenedResult(item: ItemOf<'tool-result'>): Item {
  const [firstLine = ''] = textOf(item.content).split('\n');
  const line = firstLine.length > MAX_LINE ? `${firstLine.slice(0, MAX_LINE)}…` : firstLine;
  return { ...item, content: textContent(`${line}\n[older output left out; run the tool again to see it]`) };
}

const MAX_LINE = 200;
