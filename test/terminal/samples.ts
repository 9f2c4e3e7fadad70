import * as fc from 'fast-check';

/** Characters in real use, including those that are easily cut or measured wrongly. */
export const grapheme = fc.constantFrom(
  ...'abcXYZ019 .,-()'.split(''),
  '語',
  '字',
  'ー',
  '。',
  '「',
  'ｶ',
  'ส',
  'วั',
  'น้ำ',
  'é',
  'e\u0301',
  '👋🏽',
  '👩‍💻',
  '👩‍👩‍👧‍👦',
  '🇹🇭',
  '❤️',
  '1️⃣',
  '한',
  'क्षि',
);

/** Also parts of characters, which combine with their neighbours. */
export const fragment = fc.oneof(
  { weight: 8, arbitrary: grapheme },
  fc.constantFrom('\u0301', '\u200d', '🇹', '💻', '\ufe0f'),
);

export const words = fc.array(grapheme, { maxLength: 60 }).map((parts) => parts.join(''));

/** Pieces of markdown in any order: blocks begin, end and interrupt each other. */
export const markdown = fc
  .array(
    fc.oneof(
      { weight: 3, arbitrary: fc.array(fragment, { maxLength: 60 }).map((parts) => parts.join('')) },
      fc.constantFrom(
        ...[
          '\n',
          '\n',
          '\n\n',
          '# ',
          '## ',
          '- ',
          '* ',
          '  - ',
          '    - ',
          '1. ',
          '2) ',
          '> ',
          '> > ',
          '- [x] ',
          '- [ ] ',
        ],
        ...[
          '```',
          '```ts\n',
          '\n```\n',
          '~~~',
          '    ',
          '---',
          '===',
          '***',
          '**',
          '*',
          '_',
          '`',
          '~~',
          '\\',
          '|',
          '<br>',
        ],
        ...[
          '| a | b |\n|---|:-:|\n',
          '| 語 | wide cell with words |\n',
          '[text](https://example.org/a_b)',
          '![i](u)',
        ],
        ...[
          'https://example.org/?q=1',
          '<https://a.b>',
          '&amp;',
          '\t',
          '\r\n',
          '\r',
          '\u001b[31m',
          '\u0007',
          '\u202e',
        ],
      ),
    ),
    { maxLength: 40 },
  )
  .map((parts) => parts.join(''));

/** A text cut into chunks anywhere, also inside a character. */
export function chunked(text: fc.Arbitrary<string>): fc.Arbitrary<{ whole: string; chunks: string[] }> {
  return fc.tuple(text, fc.array(fc.nat(400), { maxLength: 12 })).map(([whole, cuts]) => {
    const offsets = [0, ...cuts.map((cut) => cut % (whole.length + 1)), whole.length].toSorted(
      (a, b) => a - b,
    );
    return { whole, chunks: offsets.slice(1).map((end, index) => whole.slice(offsets[index], end)) };
  });
}

export function graphemes(text: string): string[] {
  return Array.from(new Intl.Segmenter().segment(text), ({ segment }) => segment);
}
