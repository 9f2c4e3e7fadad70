import type { Token, Tokens } from 'marked';
import { ownTokens } from './lexer.ts';

/** A block of a markdown text. The items of a list are separate blocks, so that long lists stream. */
export interface Block {
  readonly type: BlockType;
  readonly token: BlockToken;
  /** The number of its source lines, with the empty lines after it. */
  lines: number;
  /** Whether an empty line follows it. */
  isBlankAfter: boolean;
}

type BlockToken =
  | (Tokens.Heading | Tokens.Paragraph | Tokens.Text | Tokens.Code)
  | (Tokens.ListItem | Tokens.Blockquote | Tokens.Table | Tokens.Hr);

/** The type of a token; text and paragraphs are the same, fenced and indented code are not. */
type BlockType = Exclude<BlockToken['type'], 'text'> | 'indented';

/** Where a block is in its text: what precedes it. */
export interface Position {
  readonly last: BlockType | undefined;
  readonly isBlankAfter: boolean;
}

export const START: Position = { last: undefined, isBlankAfter: false };

/** Returns the blocks of a text from its tokens. */
export function blocksOf(tokens: readonly Token[]): Block[] {
  const blocks: Block[] = [];
  for (const token of ownTokens(tokens)) {
    const rest = { lines: lineCount(token.raw), isBlankAfter: false };
    switch (token.type) {
      case 'list':
        blocks.push(...listBlocks(token));
        break;
      case 'code':
        blocks.push({ type: token.codeBlockStyle ?? 'code', token, ...rest });
        break;
      case 'paragraph':
      case 'text':
        blocks.push({ type: 'paragraph', token, ...rest });
        break;
      case 'heading':
      case 'blockquote':
      case 'table':
      case 'hr':
        blocks.push({ type: token.type, token, ...rest });
        break;
      default: {
        const last = blocks.at(-1);
        if (last === undefined) break;
        last.lines += rest.lines;
        if (token.type === 'space') last.isBlankAfter = true;
      }
    }
  }
  return blocks;
}

function listBlocks({ items, raw }: Tokens.List): Block[] {
  let left = lineCount(raw);
  return items.map((token, index) => {
    // The source of the last item ends before the empty lines, that of the list does not.
    const lines = index === items.length - 1 ? left : lineCount(token.raw);
    left -= lines;
    return { type: 'list_item', token, lines, isBlankAfter: /\n *\n *$/.test(token.raw) };
  });
}

function lineCount(source: string): number {
  return source.split('\n').length - 1;
}

/**
 * Returns whether an empty line precedes a block. A list directly below its sentence, list items without empty
 * lines between them, and the parts of a long block have none.
 */
export function hasGap({ last, isBlankAfter }: Position, next: BlockType): boolean {
  if (last === undefined) return false;
  if (isBlankAfter) return true;
  if (next === 'list_item') return last !== 'list_item' && last !== 'paragraph';
  return next !== last || (next !== 'paragraph' && next !== 'indented');
}
