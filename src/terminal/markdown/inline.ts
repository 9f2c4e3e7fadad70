import { type Line, type Style, type Span, span } from '../style.ts';
import { type InlineStyle, type Piece, piecesAt } from './pieces.ts';

/** Returns the lines of a paragraph, one per hard break, with emphasis, code and links as styles. */
export function inlineLines(text: string, base: Style, style: InlineStyle): Line[] {
  return splitHardBreaks(text).map((part) => inlineSpans(part, base, style));
}

function inlineSpans(text: string, base: Style, style: InlineStyle): Line {
  const pieces: Piece[] = [];
  for (let offset = 0; offset < text.length; ) {
    const { pieces: found, length } = piecesAt(text, offset, style);
    pieces.push(...found);
    offset += length;
  }
  const looks = emphasis(pieces, style);
  return pieces.flatMap((piece, index): Span[] => {
    const pieceStyle = piece.type === 'mark' ? {} : piece.look;
    return piece.text === '' ? [] : [span(piece.text, { ...base, ...looks[index], ...pieceStyle })];
  });
}

/** Returns the style that the markup gives to each piece; matched markers are removed. */
function emphasis(pieces: readonly Piece[], { marks }: InlineStyle): Style[] {
  const changes = pieces.map(() => ({ bold: 0, italic: 0, strike: 0 }));
  const openers: number[] = [];
  pieces.forEach((piece, index) => {
    if (piece.type !== 'mark') return;
    while (piece.closes && piece.left > 0) {
      const openerIndex = openers.findLastIndex((at) => matches(pieces[at], piece));
      const opener = openers[openerIndex];
      const partner = opener === undefined ? undefined : pieces[opener];
      if (opener === undefined || partner?.type !== 'mark') break;
      const used = piece.mark === '~' ? piece.left : Math.min(2, piece.left, partner.left);
      const kind = emphasisKind(piece.mark, used);
      const [first, last] = [changes[opener], changes[index]];
      if (first !== undefined && last !== undefined) {
        first[kind] += 1;
        last[kind] -= 1;
      }
      for (const end of [partner, piece]) {
        end.left -= used;
        if (!marks) end.text = end.mark.repeat(end.left);
      }
      openers.length = openerIndex + (partner.left > 0 ? 1 : 0);
    }
    if (piece.opens && piece.left > 0) openers.push(index);
  });
  return accumulateStyles(changes);
}

/** Accumulates how many markers of each kind are open at each piece. */
function accumulateStyles(changes: readonly Readonly<Record<Kind, number>>[]): Style[] {
  const open = { bold: 0, italic: 0, strike: 0 };
  return changes.map((change) => {
    for (const kind of KINDS) open[kind] += change[kind];
    return Object.fromEntries(KINDS.filter((kind) => open[kind] > 0).map((kind) => [kind, true as const]));
  });
}

type Kind = 'bold' | 'italic' | 'strike';
const KINDS: readonly Kind[] = ['bold', 'italic', 'strike'];

function emphasisKind(mark: string, count: number): Kind {
  if (mark === '~') return 'strike';
  return count === 2 ? 'bold' : 'italic';
}

function matches(opener: Piece | undefined, closer: Extract<Piece, { type: 'mark' }>): boolean {
  if (opener?.type !== 'mark' || opener.mark !== closer.mark) return false;
  return closer.mark === '~' ? opener.left === closer.left : true;
}

/** Converts line breaks inside a paragraph to spaces, except after two spaces, a backslash or `<br>`. */
function splitHardBreaks(text: string): string[] {
  const sources = text.replace(/<br ?\/?>\n?/gi, '\\\n').split('\n');
  const lines: string[] = [];
  let isNew = true;
  sources.forEach((source, index) => {
    const isBroken = index < sources.length - 1 && (source.endsWith('\\') || source.endsWith('  '));
    const content = (isBroken && source.endsWith('\\') ? source.slice(0, -1) : source).trim();
    if (isNew) lines.push(content);
    else lines[lines.length - 1] = joinLines(lines.at(-1) ?? '', content);
    isNew = isBroken;
  });
  return lines;
}

/** Chinese and Japanese have no spaces between words, so a line break there is dropped. */
function joinLines(before: string, after: string): string {
  const isUnspaced = IDEOGRAPH.test(before.at(-1) ?? '') && IDEOGRAPH.test(after[0] ?? '');
  return isUnspaced ? before + after : `${before} ${after}`;
}

const IDEOGRAPH = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\u3000-\u303F\uFF00-\uFFEF]/u;
