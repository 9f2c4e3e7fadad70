import type { Align, Block, BlockContent } from './block.ts';
import {
  alignsIn,
  cellsOf,
  closesFence,
  type Fence,
  fenceIn,
  headingIn,
  indentOf,
  interruptsText,
  isBlank,
  isRule,
  type ItemStart,
  itemIn,
  quoted,
  underlineIn,
} from './line-kinds.ts';

/** Where the reading of a markdown text stands after a number of whole lines. */
export interface Reading {
  readonly open: Open | undefined;
  readonly blankBefore: boolean;
  readonly last: BlockContent['type'] | undefined;
}

/** The block that more lines may still belong to. */
type Open =
  | {
      readonly type: 'paragraph';
      readonly lines: readonly string[];
      /** Whether its beginning was long enough to be finished before. */
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

type OpenParagraph = Extract<Open, { type: 'paragraph' }>;

export type Step = readonly [Reading, readonly Block[]];

export const START: Reading = { open: undefined, blankBefore: false, last: undefined };

/** Reads one whole line: the blocks that it finished. */
export function step(reading: Reading, line: string): Step {
  const { open } = reading;
  if (open?.type === 'fence') return inFence(reading, open, line);
  if (isBlank(line)) return blank(reading);
  switch (open?.type) {
    case 'item':
      return inItem(reading, open, line);
    case 'paragraph':
      return inParagraph(reading, open, line);
    case 'quote': {
      const text = quoted(line);
      if (text === undefined) return closeAnd(reading, line);
      return [{ ...reading, open: { ...open, lines: [...open.lines, text] } }, []];
    }
    case 'table':
      if (!line.includes('|')) return closeAnd(reading, line);
      return [{ ...reading, open: { ...open, rows: [...open.rows, cellsOf(line)] } }, []];
    default:
      return begin(reading, line);
  }
}

/** What is open, as if the text ended here. */
export function finish(reading: Reading): Step {
  const { open } = reading;
  switch (open?.type) {
    case undefined:
    case 'fence':
      return [{ ...reading, open: undefined }, []];
    case 'paragraph':
      return paragraph(reading, open);
    case 'quote':
      return emit(reading, { type: 'quote', text: open.lines.join('\n') });
    case 'table':
      return emit(reading, { type: 'table', header: open.header, aligns: open.aligns, rows: open.rows });
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

function inFence(reading: Reading, open: Fence, line: string): Step {
  if (closesFence(line, open)) return [{ ...reading, open: undefined }, []];
  const text = line.slice(Math.min(indentOf(line), open.indent));
  return [reading, [{ type: 'code-line', language: open.language, text, gap: false }]];
}

function blank(reading: Reading): Step {
  const { open } = reading;
  if (open?.type === 'item') return [{ ...reading, open: { ...open, lines: [...open.lines, ''] } }, []];
  const [closed, blocks] = finish(reading);
  return [{ ...closed, blankBefore: true }, blocks];
}

function inItem(reading: Reading, open: Extract<Open, { type: 'item' }>, line: string): Step {
  const { indent, contentIndent, lines } = open;
  // Models often indent by two what belongs to `1. `: that counts as inside.
  const inside = indentOf(line) >= Math.min(contentIndent, indent + 2);
  const lazy = !isBlank(lines.at(-1) ?? '') && !startsBlock(line) && itemIn(line) === undefined;
  if (!inside && !lazy) return closeAnd(reading, line);
  const text = line.slice(Math.min(indentOf(line), contentIndent));
  return [{ ...reading, open: { ...open, lines: [...lines, text] } }, []];
}

function inParagraph(reading: Reading, open: OpenParagraph, line: string): Step {
  const { lines } = open;
  const level = underlineIn(line);
  if (level !== undefined) return emit(reading, { type: 'heading', level, text: lines.join(' ') });
  const aligns = alignsIn(line);
  const header = cellsOf(lines.at(-1) ?? '');
  if (aligns?.length === header.length) {
    const before: OpenParagraph = { ...open, lines: lines.slice(0, -1) };
    const [closed, blocks] = lines.length > 1 ? paragraph(reading, before) : ([reading, []] as const);
    return [{ ...closed, open: { type: 'table', header, aligns, rows: [] } }, blocks];
  }
  const item = itemIn(line);
  if (startsBlock(line) || (item !== undefined && interruptsText(item))) return closeAnd(reading, line);
  if (lines.reduce((total, { length }) => total + length, 0) < LONGEST_PARAGRAPH)
    return [{ ...reading, open: { ...open, lines: [...lines, line] } }, []];
  const [closed, blocks] = paragraph(reading, open);
  return [{ ...closed, open: { type: 'paragraph', lines: [line], continues: true } }, blocks];
}

/** A longer one is finished in parts: it would be laid out anew with every delta. */
const LONGEST_PARAGRAPH = 8000;

function paragraph(reading: Reading, { lines, continues }: OpenParagraph): Step {
  const [closed, [block]] = emit(reading, { type: 'paragraph', text: lines.join('\n') });
  return [closed, block === undefined ? [] : [{ ...block, gap: block.gap && !continues }]];
}

function startsBlock(line: string): boolean {
  return (
    headingIn(line) !== undefined || fenceIn(line) !== undefined || quoted(line) !== undefined || isRule(line)
  );
}

function closeAnd(reading: Reading, line: string): Step {
  const [closed, blocks] = finish(reading);
  const [next, more] = begin(closed, line);
  return [next, [...blocks, ...more]];
}

/** The first line of a block. */
function begin(reading: Reading, line: string): Step {
  const heading = headingIn(line);
  if (heading !== undefined) return emit(reading, { type: 'heading', ...heading });
  const fence = fenceIn(line);
  if (fence !== undefined) {
    const [next, blocks] = emit(reading, { type: 'code-open', language: fence.language });
    return [{ ...next, open: { type: 'fence', ...fence } }, blocks];
  }
  if (isRule(line)) return emit(reading, { type: 'rule' });
  const text = quoted(line);
  if (text !== undefined) return [{ ...reading, open: { type: 'quote', lines: [text] } }, []];
  const item = itemIn(line);
  if (item !== undefined) {
    const gap = gapBefore(reading, 'item');
    return [{ ...reading, open: { type: 'item', ...item, gap, lines: [item.text] } }, []];
  }
  return [{ ...reading, open: { type: 'paragraph', lines: [line], continues: false } }, []];
}

function emit(reading: Reading, content: BlockContent): Step {
  const block: Block = { ...content, gap: gapBefore(reading, content.type) };
  return [{ open: undefined, blankBefore: false, last: content.type }, [block]];
}

/** Blocks stand apart, but for a list under its sentence and the items of a list, when the text has them together. */
function gapBefore({ last, blankBefore }: Reading, next: BlockContent['type']): boolean {
  if (last === undefined) return false;
  return blankBefore || next !== 'item' || (last !== 'item' && last !== 'paragraph');
}
