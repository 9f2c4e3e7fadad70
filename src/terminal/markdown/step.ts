import type { Align, Block, BlockContent } from './block.ts';
import {
  parseAlignments,
  splitCells,
  closesFence,
  type Fence,
  parseFence,
  parseHeading,
  indentation,
  interruptsText,
  isBlank,
  isRule,
  type ItemStart,
  parseItem,
  parseQuote,
  parseUnderline,
} from './line-kinds.ts';

/** The parser state after a number of complete lines. */
export interface ParserState {
  readonly open: OpenBlock | undefined;
  readonly blankBefore: boolean;
  readonly last: BlockContent['type'] | undefined;
}

/** The block to which more lines may belong. */
type OpenBlock =
  | {
      readonly type: 'paragraph';
      readonly lines: readonly string[];
      /** Whether its beginning was already emitted because of its length. */
      readonly continues: boolean;
    }
  | ({ readonly type: 'fence' } & Fence)
  | ({ readonly type: 'item'; readonly gap: boolean; readonly lines: readonly string[] } & ItemStart)
  | { readonly type: 'quote'; readonly lines: readonly string[] }
  | {
      readonly type: 'table';
      readonly header: readonly string[];
      readonly aligns: readonly Align[];
      readonly rows: readonly (readonly string[])[];
    };

type OpenParagraph = Extract<OpenBlock, { type: 'paragraph' }>;

export type Step = readonly [ParserState, readonly Block[]];

export const INITIAL_STATE: ParserState = { open: undefined, blankBefore: false, last: undefined };

/** Parses one complete line; returns the blocks that it finished. */
export function step(state: ParserState, line: string): Step {
  const { open } = state;
  if (open?.type === 'fence') return inFence(state, open, line);
  if (isBlank(line)) return blank(state);
  switch (open?.type) {
    case 'item':
      return inItem(state, open, line);
    case 'paragraph':
      return inParagraph(state, open, line);
    case 'quote': {
      const text = parseQuote(line);
      if (text === undefined) return closeAnd(state, line);
      return [{ ...state, open: { ...open, lines: [...open.lines, text] } }, []];
    }
    case 'table':
      if (!line.includes('|')) return closeAnd(state, line);
      return [{ ...state, open: { ...open, rows: [...open.rows, splitCells(line)] } }, []];
    default:
      return begin(state, line);
  }
}

/** Finishes the open block, as if the text ended here. */
export function finish(state: ParserState): Step {
  const { open } = state;
  switch (open?.type) {
    case undefined:
    case 'fence':
      return [{ ...state, open: undefined }, []];
    case 'paragraph':
      return paragraph(state, open);
    case 'quote':
      return emit(state, { type: 'quote', text: open.lines.join('\n') });
    case 'table':
      return emit(state, { type: 'table', header: open.header, aligns: open.aligns, rows: open.rows });
    case 'item': {
      const { marker, gap, lines } = open;
      const text = lines.join('\n').trimEnd();
      const block: Block = { type: 'item', marker, text, gap };
      return [
        { open: undefined, blankBefore: isBlank(lines.at(-1) ?? '') && text !== '', last: 'item' },
        [block],
      ];
    }
  }
}

function inFence(state: ParserState, open: Fence, line: string): Step {
  if (closesFence(line, open)) return [{ ...state, open: undefined }, []];
  const text = line.slice(Math.min(indentation(line), open.indent));
  return [state, [{ type: 'code-line', language: open.language, text, gap: false }]];
}

function blank(state: ParserState): Step {
  const { open } = state;
  if (open?.type === 'item') return [{ ...state, open: { ...open, lines: [...open.lines, ''] } }, []];
  const [closed, blocks] = finish(state);
  return [{ ...closed, blankBefore: true }, blocks];
}

function inItem(state: ParserState, open: Extract<OpenBlock, { type: 'item' }>, line: string): Step {
  const { indent, contentIndent, lines } = open;
  // Models often indent the content of `1. ` by two, which counts as inside.
  const isInside = indentation(line) >= Math.min(contentIndent, indent + 2);
  const lazy = !isBlank(lines.at(-1) ?? '') && !startsBlock(line) && parseItem(line) === undefined;
  if (!isInside && !lazy) return closeAnd(state, line);
  const text = line.slice(Math.min(indentation(line), contentIndent));
  return [{ ...state, open: { ...open, lines: [...lines, text] } }, []];
}

function inParagraph(state: ParserState, open: OpenParagraph, line: string): Step {
  const { lines } = open;
  const level = parseUnderline(line);
  if (level !== undefined) return emit(state, { type: 'heading', level, text: lines.join(' ') });
  const aligns = parseAlignments(line);
  const header = splitCells(lines.at(-1) ?? '');
  if (aligns?.length === header.length) {
    const previous: OpenParagraph = { ...open, lines: lines.slice(0, -1) };
    const [closed, blocks] = lines.length > 1 ? paragraph(state, previous) : ([state, []] as const);
    return [{ ...closed, open: { type: 'table', header, aligns, rows: [] } }, blocks];
  }
  const item = parseItem(line);
  if (startsBlock(line) || (item !== undefined && interruptsText(item))) return closeAnd(state, line);
  if (lines.reduce((total, { length }) => total + length, 0) < MAX_PARAGRAPH)
    return [{ ...state, open: { ...open, lines: [...lines, line] } }, []];
  const [closed, blocks] = paragraph(state, open);
  return [{ ...closed, open: { type: 'paragraph', lines: [line], continues: true } }, blocks];
}

/** A longer paragraph is emitted in parts, because it would be laid out again with every delta. */
const MAX_PARAGRAPH = 8000;

function paragraph(state: ParserState, { lines, continues }: OpenParagraph): Step {
  const [closed, [block]] = emit(state, { type: 'paragraph', text: lines.join('\n') });
  return [closed, block === undefined ? [] : [{ ...block, gap: block.gap && !continues }]];
}

function startsBlock(line: string): boolean {
  return (
    parseHeading(line) !== undefined ||
    parseFence(line) !== undefined ||
    parseQuote(line) !== undefined ||
    isRule(line)
  );
}

function closeAnd(state: ParserState, line: string): Step {
  const [closed, blocks] = finish(state);
  const [next, more] = begin(closed, line);
  return [next, [...blocks, ...more]];
}

/** Parses the first line of a block. */
function begin(state: ParserState, line: string): Step {
  const heading = parseHeading(line);
  if (heading !== undefined) return emit(state, { type: 'heading', ...heading });
  const fence = parseFence(line);
  if (fence !== undefined) {
    const [next, blocks] = emit(state, { type: 'code-open', language: fence.language });
    return [{ ...next, open: { type: 'fence', ...fence } }, blocks];
  }
  if (isRule(line)) return emit(state, { type: 'rule' });
  const text = parseQuote(line);
  if (text !== undefined) return [{ ...state, open: { type: 'quote', lines: [text] } }, []];
  const item = parseItem(line);
  if (item !== undefined) {
    const gap = gapBefore(state, 'item');
    return [{ ...state, open: { type: 'item', ...item, gap, lines: [item.text] } }, []];
  }
  return [{ ...state, open: { type: 'paragraph', lines: [line], continues: false } }, []];
}

function emit(state: ParserState, content: BlockContent): Step {
  const block: Block = { ...content, gap: gapBefore(state, content.type) };
  return [{ open: undefined, blankBefore: false, last: content.type }, [block]];
}

/**
 * Returns whether an empty line precedes a block. A list directly below its sentence, and list items without
 * empty lines between them, have none.
 */
function gapBefore({ last, blankBefore }: ParserState, next: BlockContent['type']): boolean {
  if (last === undefined) return false;
  return blankBefore || next !== 'item' || (last !== 'item' && last !== 'paragraph');
}
