import { type Line, type Look, type Span, span } from '../look.ts';
import { type Piece, piecesAt } from './pieces.ts';

export interface InlineStyle {
  /** Keeps the marks (`**`, backticks) in the text: without colours they are all there is to see. */
  readonly marks: boolean;
}

/** The lines of a paragraph's text, one for each hard break, with emphasis, code and links as looks. */
export function inlineLines(text: string, base: Look, style: InlineStyle): Line[] {
  return hardLines(text).map((part) => inlineSpans(part, base, style));
}

function inlineSpans(text: string, base: Look, style: InlineStyle): Line {
  const pieces: Piece[] = [];
  for (let offset = 0; offset < text.length; ) {
    const { pieces: found, length } = piecesAt(text, offset, style);
    pieces.push(...found);
    offset += length;
  }
  const looks = emphasis(pieces, style);
  return pieces.flatMap((piece, index): Span[] => {
    const own = piece.type === 'mark' ? {} : piece.look;
    return piece.text === '' ? [] : [span(piece.text, { ...base, ...looks[index], ...own })];
  });
}

/** The look that the marks around each piece give it; marks that found their partner lose their text. */
function emphasis(pieces: Piece[], { marks }: InlineStyle): Look[] {
  const looks: Look[] = pieces.map(() => ({}));
  let openers: number[] = [];
  pieces.forEach((piece, index) => {
    if (piece.type !== 'mark') return;
    while (piece.closes && piece.left > 0) {
      const opener = openers.findLast((at) => matches(pieces[at], piece));
      const partner = opener === undefined ? undefined : pieces[opener];
      if (opener === undefined || partner?.type !== 'mark') break;
      const used = piece.mark === '~' ? piece.left : Math.min(2, piece.left, partner.left);
      for (let at = opener + 1; at < index; at += 1)
        looks[at] = { ...looks[at], ...lookOf(piece.mark, used) };
      for (const end of [partner, piece]) {
        end.left -= used;
        if (!marks) end.text = end.mark.repeat(end.left);
      }
      openers = openers.filter((at) => at < opener || (at === opener && partner.left > 0));
    }
    if (piece.opens && piece.left > 0) openers.push(index);
  });
  return looks;
}

function matches(opener: Piece | undefined, closer: Extract<Piece, { type: 'mark' }>): boolean {
  if (opener?.type !== 'mark' || opener.mark !== closer.mark) return false;
  return closer.mark === '~' ? opener.left === closer.left : true;
}

function lookOf(mark: string, count: number): Look {
  if (mark === '~') return { strike: true };
  return count === 2 ? { bold: true } : { italic: true };
}

/** Line breaks inside a paragraph are spaces, unless two spaces, a backslash or `<br>` make them real. */
function hardLines(text: string): string[] {
  return text
    .replace(/<br\s*\/?>[ \t]*\n?/gi, '  \n')
    .split(/(?: {2,}|\\)\n/)
    .map((part) => part.trim().replace(/(.)?[ \t]*\n[ \t]*(.)?/gu, joined));
}

/** Chinese and Japanese have no spaces between words, so a line break there is nothing. */
function joined(_: string, before = '', after = ''): string {
  return IDEOGRAPH.test(before) && IDEOGRAPH.test(after) ? before + after : `${before} ${after}`;
}

const IDEOGRAPH = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\u3000-\u303F\uFF00-\uFFEF]/u;
