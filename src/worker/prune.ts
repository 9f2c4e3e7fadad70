import { ellipsize } from '../base/index.ts';
import { type Item, textContent, contentText, type ItemOf } from '../llm/index.ts';
import { itemTokens } from './tokens.ts';

export interface PrunePolicy {
  /** The newest items up to this many tokens are kept unchanged. */
  readonly protectTokens: number;
  /** The minimum saving in tokens: every change invalidates the provider's prompt cache. */
  readonly minSaving: number;
}

export const DEFAULT_PRUNE: PrunePolicy = { protectTokens: 8000, minSaving: 4096 };

/**
 * The conversation as it is sent: old tool results are shortened to one line. The stored conversation is not changed, and
 * every call keeps a result.
 */
export function pruneItems(items: readonly Item[], policy: PrunePolicy = DEFAULT_PRUNE): readonly Item[] {
  let tokens = 0;
  let saving = 0;
  const shortened = items.toReversed().map((item) => {
    tokens += itemTokens(item);
    if (tokens <= policy.protectTokens || item.type !== 'tool-result') return item;
    const short = shortenResult(item);
    saving += itemTokens(item) - itemTokens(short);
    return short;
  });
  return saving >= policy.minSaving ? shortened.toReversed() : items;
}

function shortenResult(item: ItemOf<'tool-result'>): Item {
  const [firstLine = ''] = contentText(item.content).split('\n');
  const line = ellipsize(firstLine, MAX_LINE);
  return { ...item, content: textContent(`${line}\n[older output left out; run the tool again to see it]`) };
}

const MAX_LINE = 200;
