import { DIM, type Style, PLAIN } from '../style.ts';

export interface InlineStyle {
  /** Keeps the marks (`**`, backticks) in the text: without colours they are all there is to see. */
  readonly marks: boolean;
}

/** A stretch of a paragraph that has one look, or a run of emphasis marks. */
export type Piece =
  | { readonly type: 'text'; readonly text: string; readonly look: Style }
  | {
      readonly type: 'mark';
      text: string;
      readonly mark: string;
      /** How many of the marks have found no partner yet. */
      left: number;
      readonly opens: boolean;
      readonly closes: boolean;
    };

interface Found {
  readonly pieces: readonly Piece[];
  /** How much of the source it took. */
  readonly length: number;
}

/** What starts at the offset. */
export function piecesAt(text: string, offset: number, style: InlineStyle): Found {
  const reader = READERS[text[offset] ?? ''];
  return reader?.(text, offset, style) ?? plainAt(text, offset);
}

type Reader = (text: string, offset: number, style: InlineStyle) => Found | undefined;

const READERS: Readonly<Record<string, Reader>> = {
  '\\': escapeAt,
  '`': codeAt,
  '*': markAt,
  _: markAt,
  '~': markAt,
  '[': linkAt,
  '!': linkAt,
  '<': autolinkAt,
  h: addressAt,
  '&': entityAt,
};

const CODE: Style = { colour: 'cyan' };
const LINK: Style = { underline: true };
/** How far a link's end is looked for: a text of nothing but brackets must not cost its square. */
const REACH = 2000;

function found(text: string, length: number, look: Style = PLAIN): Found {
  return { pieces: [{ type: 'text', text, look }], length };
}

function plainAt(text: string, offset: number): Found {
  PLAIN_RUN.lastIndex = offset;
  const run = PLAIN_RUN.exec(text)?.[0] ?? text[offset] ?? '';
  return found(run, run.length);
}

/** At least one character, then whatever cannot start another piece; an address starts at the beginning of a word. */
const PLAIN_RUN = /[^](?:[^\\`*_~[!<&h]|(?<=\w)h|h(?!ttps?:))*/uy;

function escapeAt(text: string, offset: number): Found | undefined {
  const next = text[offset + 1] ?? '';
  return /[!-/:-@[-`{-~]/.test(next) ? found(next, 2) : undefined;
}

function codeAt(text: string, offset: number, { marks }: InlineStyle): Found | undefined {
  const ticks = /^`+/.exec(text.slice(offset, offset + REACH))?.[0] ?? '`';
  for (let end = offset + ticks.length; end < text.length; ) {
    const at = text.indexOf(ticks, end);
    if (at === -1) break;
    const run = /^`+/.exec(text.slice(at))?.[0].length ?? 0;
    if (run === ticks.length) {
      const source = text.slice(offset, at + run);
      const inner = text.slice(offset + run, at).replace(/^ (.*[^ ].*) $/, '$1');
      return found(marks ? source : inner, source.length, CODE);
    }
    end = at + run;
  }
  return found(ticks, ticks.length);
}

/** Looser than the standard: `**「強」**の` is emphasis, as whoever wrote it meant. */
function markAt(text: string, offset: number): Found | undefined {
  const mark = text[offset] ?? '';
  let end = offset;
  while (text[end] === mark) end += 1;
  const count = end - offset;
  if (mark === '~' && count > 2) return found(mark.repeat(count), count);
  const before = text.slice(Math.max(0, offset - 2), offset);
  const after = text.slice(end, end + 2);
  const inWord = mark === '_' && /[\p{L}\p{N}]$/u.test(before) && /^[\p{L}\p{N}]/u.test(after);
  const opens = /^\S/.test(after) && !inWord;
  const closes = /\S$/.test(before) && !inWord;
  return {
    pieces: [{ type: 'mark', text: mark.repeat(count), mark, left: count, opens, closes }],
    length: count,
  };
}

function linkAt(text: string, offset: number, { marks }: InlineStyle): Found | undefined {
  LINK_SOURCE.lastIndex = offset;
  const [source, bang, label = '', target = ''] = LINK_SOURCE.exec(text.slice(0, offset + REACH)) ?? [];
  if (source === undefined) return undefined;
  if (marks) return found(source, source.length);
  const shown = bang === '!' ? `[image: ${label}]` : label.replaceAll(/[*`]/g, '');
  if (shown === target || shown === '') return found(target, source.length, { ...LINK, href: target });
  const named: Piece = { type: 'text', text: shown, look: { ...LINK, href: target } };
  return { pieces: [named, { type: 'text', text: ` (${target})`, look: DIM }], length: source.length };
}

/** `[text](target "title")`, with brackets in the text balanced one deep. */
const LINK_SOURCE =
  /(!?)\[((?:[^[\]\\]|\\.|\[[^[\]]*\])*)\]\(\s*<?((?:[^\s()<>]|\([^\s()]*\))*)>?(?:\s+(?:"[^"]*"|'[^']*'))?\s*\)/uy;

function autolinkAt(text: string, offset: number): Found | undefined {
  const [source, target = ''] =
    /^<((?:https?:\/\/|mailto:)[^\s<>]+)>/.exec(text.slice(offset, offset + REACH)) ?? [];
  return source === undefined ? undefined : found(target, source.length, { ...LINK, href: target });
}

function addressAt(text: string, offset: number): Found | undefined {
  const run = /^https?:\/\/[^\s<>"`、。」）]+/.exec(text.slice(offset, offset + REACH))?.[0];
  const target = run?.replace(/[.,:;!?'*_~]+$/, '').replace(/^([^(]*)\)+$/, '$1');
  return target === undefined || target === ''
    ? undefined
    : found(target, target.length, { ...LINK, href: target });
}

function entityAt(text: string, offset: number): Found | undefined {
  const [source, name = ''] = /^&(amp|lt|gt|quot|nbsp|#39);/.exec(text.slice(offset, offset + 8)) ?? [];
  return source === undefined ? undefined : found(ENTITIES[name] ?? source, source.length);
}

const ENTITIES: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  nbsp: ' ',
  '#39': "'",
};
