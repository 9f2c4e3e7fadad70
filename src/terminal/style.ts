import { displayWidth } from './width.ts';
import { sanitizeLine } from './sanitize.ts';

export type Colour = 'red' | 'green' | 'yellow' | 'blue' | 'magenta' | 'cyan';

/** The appearance of text; absent fields use the terminal's default. */
export interface Style {
  readonly bold?: true;
  readonly dim?: true;
  readonly italic?: true;
  readonly underline?: true;
  readonly inverse?: true;
  readonly strike?: true;
  readonly colour?: Colour;
  /** The link target, for terminals that support hyperlinks. */
  readonly href?: string;
}

export interface Span {
  readonly text: string;
  readonly look: Style;
}

/** One row of a terminal before encoding: the paint options decide about colours. */
export type Line = readonly Span[];

export const PLAIN: Style = {};
export const DIM: Style = { dim: true };
export const BOLD: Style = { bold: true };
export const RED: Style = { colour: 'red' };
export const GREEN: Style = { colour: 'green' };
export const YELLOW: Style = { colour: 'yellow' };
export const CYAN: Style = { colour: 'cyan' };

/** Sanitizes the text, so that its measured width is its displayed width. */
export function span(text: string, look: Style = PLAIN): Span {
  return { text: sanitizeLine(text), look };
}

export function line(text: string, look: Style = PLAIN): Line {
  return [span(text, look)];
}

export function lineText(line: Line): string {
  return line.map(({ text }) => text).join('');
}

export function lineWidth(line: Line): number {
  return displayWidth(lineText(line));
}

export interface Paint {
  /** Whether bold, dim, inverse and the like are shown. */
  readonly styled: boolean;
  /** Whether colours are shown as well. */
  readonly coloured: boolean;
  /** Encodes links as OSC 8, which some terminals make clickable. */
  readonly hyperlinks: boolean;
}

export const COLOURED: Paint = { styled: true, coloured: true, hyperlinks: false };
/** For a terminal on which the user does not want colours. */
export const MONOCHROME: Paint = { styled: true, coloured: false, hyperlinks: false };
/** For output that is not a terminal. */
export const UNSTYLED: Paint = { styled: false, coloured: false, hyperlinks: false };

/** Encodes a line. Whatever the text contains, only our own escape sequences are output. */
export function paintLine(line: Line, paint: Paint): string {
  return line.map(({ text, look }) => paintSpan(sanitizeLine(text), look, paint)).join('');
}

function paintSpan(text: string, look: Style, { styled, coloured, hyperlinks }: Paint): string {
  if (text === '' || !styled) return text;
  const codes = styleCodes(look, coloured);
  const painted = codes === '' ? text : `\u001b[${codes}m${text}\u001b[m`;
  if (!hyperlinks || look.href === undefined) return painted;
  return `\u001b]8;;${sanitizeLine(look.href).replace(NOT_IN_URLS, encodeURIComponent)}\u001b\\${painted}\u001b]8;;\u001b\\`;
}

function styleCodes(
  { bold, dim, italic, underline, inverse, strike, colour }: Style,
  coloured: boolean,
): string {
  const codes = [
    ...(bold ? [1] : []),
    ...(dim ? [2] : []),
    ...(italic ? [3] : []),
    ...(underline ? [4] : []),
    ...(inverse ? [7] : []),
    ...(strike ? [9] : []),
    ...(colour === undefined || !coloured ? [] : [COLOUR_CODES[colour]]),
  ];
  return codes.join(';');
}

const NOT_IN_URLS = /[^!-~]/gu;

const COLOUR_CODES: Readonly<Record<Colour, number>> = {
  red: 31,
  green: 32,
  yellow: 33,
  blue: 34,
  magenta: 35,
  cyan: 36,
};
