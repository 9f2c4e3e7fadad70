import type { Tokens } from 'marked';
import type { Line } from '../style.ts';
import { type Block, blocksOf, hasGap, type Position, START } from './blocks.ts';
import type { CodeState } from './code.ts';
import { indentation, itemStart } from './item-indent.ts';
import { lexBlocks, MAX_CELLS, MAX_DEPTH } from './lexer.ts';
import {
  blockLines,
  codeLine,
  type Frame,
  frameLines,
  innerStyle,
  itemFrame,
  languageLines,
  languageOf,
  type MarkdownStyle,
  QUOTE,
  quoteStyle,
  withoutTask,
} from './render.ts';
import { type ColumnWidths, tableLines } from './table.ts';

/** The state after a number of complete lines, of which the finished blocks are already rendered. */
export interface ReaderState extends Position {
  /** The lines of the block that may continue. */
  readonly tail: readonly string[];
  /** The block that continues line by line, because it is code or because it is long. */
  readonly open: OpenBlock | undefined;
}

type OpenBlock =
  | { readonly type: 'code'; readonly mark: string; readonly indent: number; readonly code: CodeState }
  /** `tail` starts with the header, which is already rendered. */
  | { readonly type: 'table'; readonly widths: ColumnWidths }
  | OpenContainer;

/** A list item or a quote whose blocks are rendered one by one. */
interface OpenContainer {
  readonly type: 'list_item' | 'blockquote';
  readonly frame: Frame;
  /** The column at which the content of an item starts, and its own column. */
  readonly contentIndent: number;
  readonly indent: number;
  readonly isStarted: boolean;
  readonly inner: ReaderState;
}

export const INITIAL_STATE: ReaderState = { ...START, tail: [], open: undefined };

type Step = readonly [ReaderState, readonly Line[]];

/** A longer block is finished in parts, because it would be laid out again with every delta. */
const MAX_LENGTH = 8000;
/** Shorter, because the blocks in a list item or a quote are lexed again with every line. */
const MAX_CONTAINER_LENGTH = 2000;

/** Reads one complete line; returns the lines that it finished. */
export function readLine(state: ReaderState, line: string, style: MarkdownStyle, depth = 0): Step {
  const { open } = state;
  switch (open?.type) {
    case 'code': {
      if (closesFence(line, open.mark)) return [{ ...INITIAL_STATE, last: 'code' }, []];
      const [code, lines] = codeLine(open.code, fenceContent(line, open.indent), style);
      return [{ ...state, open: { ...open, code } }, lines];
    }
    case 'list_item':
    case 'blockquote': {
      const content = contentOf(open, line);
      if (content === undefined) {
        const [next, lines] = readLine(closed(state), line, style, depth);
        return [next, [...finish(state, style), ...lines]];
      }
      const [inner, lines] = readLine(open.inner, content, containerStyle(open, style), depth + 1);
      const isStarted = open.isStarted || lines.length > 0;
      return [
        { ...state, open: { ...open, inner, isStarted } },
        frameLines(lines, open.frame, style.width, open.isStarted),
      ];
    }
    default:
      return cut({ ...state, tail: [...state.tail, line] }, style, depth);
  }
}

/** Returns the unfinished lines, as if the text ended here; with an incomplete line, if there is one. */
export function finish(state: ReaderState, style: MarkdownStyle, partial?: string): Line[] {
  const { open, tail } = state;
  switch (open?.type) {
    case 'code':
      if (partial === undefined || closesFence(partial, open.mark)) return [];
      return codeLine({ ...open.code, isPartial: true }, fenceContent(partial, open.indent), style)[1];
    case 'list_item':
    case 'blockquote': {
      const content = partial === undefined ? undefined : contentOf(open, partial);
      const lines = finish(open.inner, containerStyle(open, style), content);
      const shown = lines.length === 0 && !open.isStarted ? [[]] : lines;
      const framed = frameLines(shown, open.frame, style.width, open.isStarted);
      if (partial === undefined || content !== undefined) return framed;
      return [...framed, ...finish(closed(state), style, partial)];
    }
    default:
      return render(state, lex(partial === undefined ? tail : [...tail, partial]), style);
  }
}

function lex(lines: readonly string[]): Block[] {
  return blocksOf(lexBlocks(lines.map((line) => `${line}\n`).join('')));
}

/** Renders the blocks of the tail. */
function render(state: ReaderState, blocks: readonly Block[], style: MarkdownStyle): Line[] {
  const [first, ...others] = blocks;
  if (state.open?.type !== 'table' || first?.token.type !== 'table') return blockLines(blocks, style, state);
  const { lines } = tableLines(first.token, style.width, style, state.open.widths);
  return [...lines, ...blockLines(others, style, { last: 'table', isBlankAfter: first.isBlankAfter })];
}

/** Finishes the blocks at the beginning of the tail that following lines cannot change. */
function cut(state: ReaderState, style: MarkdownStyle, depth: number): Step {
  const blocks = lex(state.tail);
  const last = blocks.at(-1);
  if (last === undefined) return [{ ...state, tail: [], isBlankAfter: true }, []];
  if (isComplete(last)) return [after(last), render(state, blocks, style)];
  const finished = blocks.slice(0, -1);
  const before = finished.at(-1);
  const tail = state.tail.slice(finished.reduce((total, { lines }) => total + lines, 0));
  const rest = before === undefined ? state : { ...after(before), tail };
  const [next, lines] = continueBlock(rest, last, style, depth);
  return [next, [...render(state, finished, style), ...lines]];
}

function isComplete({ type, isBlankAfter }: Block): boolean {
  if (type === 'heading' || type === 'hr') return true;
  return isBlankAfter && type !== 'list_item' && type !== 'indented';
}

function after({ type, isBlankAfter }: Block): ReaderState {
  return { ...INITIAL_STATE, last: type, isBlankAfter };
}

/** Keeps the last block open, unless it is code or has become long. */
function continueBlock(state: ReaderState, block: Block, style: MarkdownStyle, depth: number): Step {
  const { type, token } = block;
  if (token.type === 'code' && type === 'code') return openFence(state, token, style);
  if (!isLong(state.tail, block)) return [state, []];
  if (token.type === 'table') return openTable(state, token, style);
  if ((token.type === 'list_item' || token.type === 'blockquote') && depth < MAX_DEPTH)
    return openContainer(state, token, style, depth);
  return [after(block), render(state, [block], style)];
}

function isLong(tail: readonly string[], { token }: Block): boolean {
  const length = tail.reduce((total, line) => total + line.length + 1, 0);
  if (token.type === 'list_item' || token.type === 'blockquote') return length > MAX_CONTAINER_LENGTH;
  const cells = token.type === 'table' ? token.rows.length * token.header.length : 0;
  return length > MAX_LENGTH || cells > MAX_CELLS / 2;
}

function openFence(state: ReaderState, { raw, lang }: Tokens.Code, style: MarkdownStyle): Step {
  const [, indent = '', mark = ''] = FENCE.exec(raw) ?? [];
  const language = languageOf(lang);
  const open: OpenBlock = { type: 'code', mark, indent: indent.length, code: { language, context: [] } };
  const lines = [...gap(state, 'code'), ...languageLines(language, style.width)];
  let next: ReaderState = { ...state, tail: [], open };
  for (const line of state.tail.slice(1)) {
    const [following, more] = readLine(next, line, style);
    next = following;
    lines.push(...more);
  }
  return [next, lines];
}

const FENCE = /^( *)(`+|~+)/;

function closesFence(line: string, mark: string): boolean {
  const trimmed = line.trim();
  return (
    trimmed.length >= mark.length &&
    indentation(line) < 4 &&
    trimmed === mark.charAt(0).repeat(trimmed.length)
  );
}

function fenceContent(line: string, indent: number): string {
  return line.slice(Math.min(indentation(line), indent));
}

function openTable(state: ReaderState, token: Tokens.Table, style: MarkdownStyle): Step {
  const before = state.open?.type === 'table' ? state.open.widths : undefined;
  const { lines, widths } = tableLines(token, style.width, style, before);
  const next: ReaderState = {
    last: 'table',
    isBlankAfter: false,
    tail: state.tail.slice(0, 2),
    open: { type: 'table', widths },
  };
  return [next, before === undefined ? [...gap(state, 'table'), ...lines] : lines];
}

function openContainer(
  state: ReaderState,
  token: Tokens.ListItem | Tokens.Blockquote,
  style: MarkdownStyle,
  depth: number,
): Step {
  const { type } = token;
  const [first = '', ...others] = state.tail;
  const { indent, contentIndent } = itemStart(first) ?? { indent: 0, contentIndent: 0 };
  const frame = type === 'list_item' ? itemFrame(token, style) : QUOTE;
  const open: OpenContainer = { type, frame, indent, contentIndent, isStarted: false, inner: INITIAL_STATE };
  const start =
    type === 'list_item' ? withoutTask(token, first.slice(contentIndent)) : contentOf(open, first);
  const content = [start ?? first, ...others.map((line) => contentOf(open, line) ?? line)];
  const [inner, lines] = cut({ ...INITIAL_STATE, tail: content }, containerStyle(open, style), depth + 1);
  return [
    { ...state, tail: [], open: { ...open, inner, isStarted: lines.length > 0 } },
    [...gap(state, type), ...frameLines(lines, frame, style.width)],
  ];
}

function containerStyle({ type, frame }: OpenContainer, style: MarkdownStyle): MarkdownStyle {
  return type === 'blockquote' ? quoteStyle(style) : innerStyle(style, frame);
}

/** Returns the content of a line in a container, or nothing if the container ends before it. */
function contentOf({ type, indent, contentIndent }: OpenContainer, line: string): string | undefined {
  if (type === 'blockquote') return /^ {0,3}> ?(.*)$/.exec(line)?.[1];
  if (line.trim() === '') return '';
  const columns = indentation(line);
  return columns < Math.min(contentIndent, indent + 2)
    ? undefined
    : line.slice(Math.min(columns, contentIndent));
}

/** Ends a container. */
function closed({ open }: ReaderState): ReaderState {
  if (open?.type !== 'list_item' && open?.type !== 'blockquote') return INITIAL_STATE;
  return { ...INITIAL_STATE, last: open.type, isBlankAfter: endsBlank(open.inner) };
}

function endsBlank(state: ReaderState): boolean {
  if (state.open?.type === 'list_item' || state.open?.type === 'blockquote')
    return endsBlank(state.open.inner);
  return state.tail.length === 0 ? state.isBlankAfter : state.tail.at(-1)?.trim() === '';
}

function gap(position: Position, next: Block['type']): Line[] {
  return hasGap(position, next) ? [[]] : [];
}
