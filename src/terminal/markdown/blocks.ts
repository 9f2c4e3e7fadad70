import type { MarkedToken, Token, Tokens } from 'marked';
import { ownTokens } from './lexer.ts';

/** A block of a markdown text. The items of a list are separate blocks, so that long lists stream. */
export type Block = BlockContent & {
  /** The number of its source lines, with the empty lines after it. */
  lines: number;
  /** Whether an empty line follows it. */
  isBlankAfter: boolean;
};

type BlockContent =
  | { readonly type: 'heading'; readonly token: Tokens.Heading }
  | { readonly type: 'paragraph'; readonly token: { readonly text: string } }
  | { readonly type: 'fence' | 'indented'; readonly token: Tokens.Code }
  | { readonly type: 'item'; readonly token: Tokens.ListItem }
  | { readonly type: 'quote'; readonly token: Tokens.Blockquote }
  | { readonly type: 'table'; readonly token: Tokens.Table }
  | { readonly type: 'rule' };

/** Where a block is in its text: what precedes it. */
export interface Position {
  readonly last: Block['type'] | undefined;
  readonly isBlankAfter: boolean;
}

export const START: Position = { last: undefined, isBlankAfter: false };

/** Returns the blocks of a text from its tokens. */
export function blocksOf(tokens: readonly Token[]): Block[] {
  const blocks: Block[] = [];
  for (const token of ownTokens(tokens)) {
    const added = tokenBlocks(token);
    blocks.push(...added);
    const last = blocks.at(-1);
    if (added.length > 0 || last === undefined) continue;
    last.lines += lineCount(token.raw);
    if (token.type === 'space') last.isBlankAfter = true;
  }
  return blocks;
}

function tokenBlocks(token: MarkedToken): Block[] {
  const rest = { lines: lineCount(token.raw), isBlankAfter: false };
  switch (token.type) {
    case 'heading':
      return [{ type: 'heading', token, ...rest }];
    case 'code':
      return [{ type: token.codeBlockStyle === 'indented' ? 'indented' : 'fence', token, ...rest }];
    case 'blockquote':
      return [{ type: 'quote', token, ...rest }];
    case 'table':
      return [{ type: 'table', token, ...rest }];
    case 'hr':
      return [{ type: 'rule', ...rest }];
    case 'list':
      return listBlocks(token);
    case 'paragraph':
    case 'text':
      return [{ type: 'paragraph', token, ...rest }];
    default:
      return [];
  }
}

function listBlocks({ items, raw }: Tokens.List): Block[] {
  let left = lineCount(raw);
  return items.map((token, index) => {
    // The source of the last item ends before the empty lines, that of the list does not.
    const lines = index === items.length - 1 ? left : lineCount(token.raw);
    left -= lines;
    return { type: 'item', token, lines, isBlankAfter: /\n *\n *$/.test(token.raw) };
  });
}

function lineCount(source: string): number {
  let count = 0;
  for (let at = source.indexOf('\n'); at !== -1; at = source.indexOf('\n', at + 1)) count += 1;
  return count;
}

/**
 * Returns whether an empty line precedes a block. A list directly below its sentence, list items without empty
 * lines between them, and the parts of a long block have none.
 */
export function hasGap({ last, isBlankAfter }: Position, next: Block['type']): boolean {
  if (last === undefined) return false;
  if (isBlankAfter) return true;
  if (next === 'item') return last !== 'item' && last !== 'paragraph';
  return next !== last || (next !== 'paragraph' && next !== 'indented');
}
