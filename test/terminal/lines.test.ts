import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  COLOURED,
  fitLine,
  sanitizeLine,
  sanitizeLines,
  type Line,
  type Style,
  line,
  paintLine,
  type Span,
  span,
  lineText,
  MONOCHROME,
  UNSTYLED,
  lineWidth,
  wrapLine,
} from '../../src/terminal/index.ts';
import { fragment, graphemes } from './samples.ts';

const BOLD: Style = { bold: true };

describe('untrusted text', () => {
  it.each([
    ['\u001b[31m', '␛[31m'],
    ['\u0000\u0007\u007f', '␀␇␡'],
    ['a\tb', 'a    b'],
    ['\u009b31m', '\uFFFD31m'],
    ['\ud800', '\uFFFD'],
    ['user\u202etxt.exe', 'user\uFFFDtxt.exe'],
    ['a\u2028b\u00adc\ufeff', 'a bc'],
    ['👩‍💻 語 é น้ำ', '👩‍💻 語 é น้ำ'],
  ])('%j is shown as %j', (text, shown) => {
    expect(sanitizeLine(text)).toBe(shown);
  });

  it('is split into lines, with the last state of a rewritten line', () => {
    expect(sanitizeLines('a\r\nb\r\r\nold\rnew\n')).toEqual(['a', 'b', 'new', '']);
  });
});

describe('a line', () => {
  it('is encoded with or without colours', () => {
    const spans: Span[] = [span('a'), span('b', { ...BOLD, colour: 'red' }), span('\u001b[2J')];
    expect(paintLine(spans, COLOURED)).toBe('a\u001b[1;31mb\u001b[m␛[2J');
    expect(paintLine(spans, MONOCHROME)).toBe('a\u001b[1mb\u001b[m␛[2J');
    expect(paintLine(spans, UNSTYLED)).toBe('ab␛[2J');
  });

  it('is sanitized even if its producer did not sanitize it', () => {
    expect(paintLine([{ text: 'x\u001b[2Jy', look: BOLD }], COLOURED)).toBe('\u001b[1mx␛[2Jy\u001b[m');
  });

  it('can carry a link whose URL cannot end the sequence', () => {
    const linked = line('here', { href: 'https://a.b/ü?q=%20 \u001b\\x' });
    const bytes = '\u001b]8;;https://a.b/%C3%BC?q=%20%20%E2%90%9B\\x\u001b\\here\u001b]8;;\u001b\\';
    expect(paintLine(linked, { ...COLOURED, hyperlinks: true })).toBe(bytes);
    expect(paintLine(linked, COLOURED)).toBe('here');
  });

  it.each([
    ['one two three', 8, ['one two', 'three']],
    ['one  two', 3, ['one', 'two']],
    ['abcdefghij', 4, ['abcd', 'efgh', 'ij']],
    ['a abcdefghij b', 4, ['a', 'abcd', 'efgh', 'ij b']],
    ['日本語テキスト', 5, ['日本', '語テ', 'キス', 'ト']],
    ['「日本」語', 6, ['「日', '本」語']],
    ['👩‍💻👩‍💻👩‍💻', 4, ['👩‍💻👩‍💻', '👩‍💻']],
    ['\u0301aน้ำ', 2, ['\u0301', 'a', 'น้ำ']],
    ['', 4, ['']],
  ])('%j in %i columns is %j', (text, width, rows) => {
    expect(wrapLine(line(text), width).map(lineText)).toEqual(rows);
  });

  it('keeps the styles of its parts across a wrap', () => {
    expect(wrapLine([span('one '), span('two three', BOLD)], 7)).toEqual([
      [span('one '), span('two', BOLD)],
      [span('three', BOLD)],
    ]);
  });

  it('loses only spaces when wrapped, cuts no character and is never too wide', () => {
    const spans = fc.array(
      fc
        .tuple(fc.array(fragment, { maxLength: 20 }), fc.boolean())
        .map(([parts, bold]) => span(parts.join(''), bold ? BOLD : {})),
      { maxLength: 5 },
    );
    fc.assert(
      fc.property(spans, fc.integer({ min: 2, max: 30 }), (input: Line, width) => {
        const rows = wrapLine(input, width);
        const text = lineText(input);
        expect(rows.map(lineText).join('').replaceAll(' ', '')).toBe(text.replaceAll(' ', ''));
        const starts = new Set(boundaries(text));
        let offset = 0;
        for (const row of rows) {
          const at = text.indexOf(lineText(row), offset);
          expect(starts).toContain(at);
          offset = at + lineText(row).length;
          expect(starts).toContain(offset);
          expect(lineWidth(row)).toBeLessThanOrEqual(Math.max(width, widest(text)));
          expect(lineWidth(fitLine(row, width))).toBeLessThanOrEqual(width);
        }
      }),
      { numRuns: 300 },
    );
  });
});

function boundaries(text: string): number[] {
  let offset = 0;
  return [0, ...graphemes(text).map((grapheme) => (offset += grapheme.length))];
}

/** A character that is wider than the terminal has its own row. */
function widest(text: string): number {
  return Math.max(0, ...graphemes(text).map((grapheme) => lineWidth([span(grapheme)])));
}
