import type { Content, Item } from '../llm/index.ts';

/** A rough estimate of four characters per token, for decisions only. */
export function estimateTokens(items: readonly Item[]): number {
  return items.reduce((sum, item) => sum + itemTokens(item), 0);
}

export function itemTokens(item: Item): number {
  switch (item.type) {
    case 'message':
    case 'tool-result':
      return contentTokens(item.content);
    case 'tool-call':
      return textTokens(item.name) + textTokens(item.arguments);
    case 'reasoning':
      return textTokens(item.text);
    case 'opaque':
      return textTokens(JSON.stringify(item.seal.data));
  }
}

/** A typical token count for an image. */
const IMAGE_TOKENS = 1200;

function contentTokens(content: readonly Content[]): number {
  return content.reduce(
    (sum, part) => sum + (part.type === 'text' ? textTokens(part.text) : IMAGE_TOKENS),
    0,
  );
}

function textTokens(text: string): number {
  return Math.ceil(text.length / 4);
}
