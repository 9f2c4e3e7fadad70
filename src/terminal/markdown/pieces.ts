import { DIM, type Style, PLAIN } from '../style.ts';

export interface InlineStyle {
  /** Keeps the markup (`**`, backticks) in the text, for output without colours. */
  readonly marks: boolean;
}

/** A part of a paragraph with one style, or a run of emphasis markers. */
export type Piece =
  | { readonly type: 'text'; readonly text: string; readonly look: Style }
  | {
      readonly type: 'mark';
      text: string;
      readonly mark: string;
      /** How many of the markers are still unmatched. */
      left: number;
      readonly opens: boolean;
      readonly closes: boolean;
    };

interface ParsedPieces {
  readonly pieces: readonly Piece[];
  /** The length of its source. */
  readonly length: number;
}

/** Parses the pieces at an offset. */
export function piecesAt(text: string, offset: number, style: InlineStyle): ParsedPieces {
  const reader = READERS[text[offset] ?? ''];
  return reader?.(text, offset, style) ?? plainAt(text, offset);
}

type Reader = (text: string, offset: number, style: InlineStyle) => ParsedPieces | undefined;

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
/** How far to search for the end of a link: a text full of brackets must not cost quadratic time. */
const MAX_LINK_LENGTH = 2000;

function textPiece(text: string, length: number, look: Style = PLAIN): ParsedPieces {
  return { pieces: [{ type: 'text', text, look }], length };
}

function plainAt(text: string, offset: number): ParsedPieces {
  PLAIN_RUN.lastIndex = offset;
  const run = PLAIN_RUN.exec(text)?.[0] ?? text[offset] ?? '';
  return textPiece(run, run.length);
}

/** At least one character, then everything that cannot start another piece; a URL starts at a word boundary. */
const PLAIN_RUN = /[^](?:[^\\`*_~[!<&h]|(?<=\w)h|h(?!ttps?:))*/uy;

function escapeAt(text: string, offset: number): ParsedPieces | undefined {
  const next = text[offset + 1] ?? '';
  return /[!-/:-@[-`{-~]/.test(next) ? textPiece(next, 2) : undefined;
}

function codeAt(text: string, offset: number, { marks }: InlineStyle): ParsedPieces | undefined {
  const ticks = /^`+/.exec(text.slice(offset, offset + MAX_LINK_LENGTH))?.[0] ?? '`';
  for (let end = offset + ticks.length; end < text.length; ) {
    const at = text.indexOf(ticks, end);
    if (at === -1) break;
    const run = /^`+/.exec(text.slice(at))?.[0].length ?? 0;
    if (run === ticks.length) {
      const source = text.slice(offset, at + run);
      const inner = text.slice(offset + run, at).replace(/^ (.*[^ ].*) $/, '$1');
      return textPiece(marks ? source : inner, source.length, CODE);
    }
    end = at + run;
  }
  return textPiece(ticks, ticks.length);
}

/** More lenient than the standard: `**「強」**の` is emphasis, as its author intended. */
function markAt(text: string, offset: number): ParsedPieces | undefined {
  const mark = text[offset] ?? '';
  let end = offset;
  while (text[end] === mark) end += 1;
  const count = end - offset;
  if (mark === '~' && count > 2) return textPiece(mark.repeat(count), count);
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

function linkAt(text: string, offset: number, { marks }: InlineStyle): ParsedPieces | undefined {
  LINK_SOURCE.lastIndex = offset;
  const [source, bang, label = '', target = ''] =
    LINK_SOURCE.exec(text.slice(0, offset + MAX_LINK_LENGTH)) ?? [];
  if (source === undefined) return undefined;
  if (marks) return textPiece(source, source.length);
  const linkText = bang === '!' ? `[image: ${label}]` : label.replaceAll(/[*`]/g, '');
  if (linkText === target || linkText === '')
    return textPiece(target, source.length, { ...LINK, href: target });
  const named: Piece = { type: 'text', text: linkText, look: { ...LINK, href: target } };
  return { pieces: [named, { type: 'text', text: ` (${target})`, look: DIM }], length: source.length };
}

/** `[text](target "title")`, with balanced brackets one level deep in the text. */
const LINK_SOURCE =
  /(!?)\[((?:[^[\]\\]|\\.|\[[^[\]]*\])*)\]\(\s*<?((?:[^\s()<>]|\([^\s()]*\))*)>?(?:\s+(?:"[^"]*"|'[^']*'))?\s*\)/uy;

function autolinkAt(text: string, offset: number): ParsedPieces | undefined {
  const [source, target = ''] =
    /^<((?:https?:\/\/|mailto:)[^\s<>]+)>/.exec(text.slice(offset, offset + MAX_LINK_LENGTH)) ?? [];
  return source === undefined ? undefined : textPiece(target, source.length, { ...LINK, href: target });
}

function addressAt(text: string, offset: number): ParsedPieces | undefined {
  const run = /^https?:\/\/[^\s<>"`、。」）]+/.exec(text.slice(offset, offset + MAX_LINK_LENGTH))?.[0];
  const target = run?.replace(/[.,:;!?'*_~]+$/, '').replace(/^([^(]*)\)+$/, '$1');
  return target === undefined || target === ''
    ? undefined
    : textPiece(target, target.length, { ...LINK, href: target });
}

function entityAt(text: string, offset: number): ParsedPieces | undefined {
  const [source, name = ''] = /^&(amp|lt|gt|quot|nbsp|#39);/.exec(text.slice(offset, offset + 8)) ?? [];
  return source === undefined ? undefined : textPiece(ENTITIES[name] ?? source, source.length);
}

const ENTITIES: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  nbsp: ' ',
  '#39': "'",
};
