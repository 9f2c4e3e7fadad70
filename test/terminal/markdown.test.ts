import * as fc from 'fast-check';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  COLOURED,
  type Line,
  MarkdownStream,
  type MarkdownStyle,
  markdownLines,
  paintLine,
  lineText,
  lineWidth,
  sanitizeLine,
} from '../../src/terminal/index.ts';
import { blocksOf } from '../../src/terminal/markdown/blocks.ts';
import { grammarOf } from '../../src/terminal/markdown/highlight.ts';
import { lexBlocks } from '../../src/terminal/markdown/lexer.ts';
import { blockLines } from '../../src/terminal/markdown/render.ts';
import { chunked, markdown } from './samples.ts';

const STYLE: MarkdownStyle = { width: 40, base: {}, marks: false };

function renderedLines(text: string, width = 40): string[] {
  return markdownLines(text, { ...STYLE, width }).map(lineText);
}

function painted(text: string): string {
  return markdownLines(text, STYLE)
    .map((line) => paintLine(line, COLOURED))
    .join('\n');
}

describe('markdown on a terminal', () => {
  it.each([
    ['a **bold** word', 'a \u001b[1mbold\u001b[m word'],
    ['an *italic* and an _italic_ word', 'an \u001b[3mitalic\u001b[m and an \u001b[3mitalic\u001b[m word'],
    ['***both***', '\u001b[1;3mboth\u001b[m'],
    ['**a *b* c**', '\u001b[1ma \u001b[m\u001b[1;3mb\u001b[m\u001b[1m c\u001b[m'],
    ['~~gone~~ and ~', '\u001b[9mgone\u001b[m and ~'],
    ['`a*b*`', '\u001b[36ma*b*\u001b[m'],
    ['``a ` b``', '\u001b[36ma ` b\u001b[m'],
    ['snake_case_name', 'snake_case_name'],
    ['2 * 3 * 4', '2 * 3 * 4'],
    ['\\*not\\*', '*not*'],
    ['**「強調」**の文', '\u001b[1m「強調」\u001b[mの文'],
    ['[text](https://a.b)', '\u001b[4mtext\u001b[m\u001b[2m (https://a.b)\u001b[m'],
    ['see https://a.b/c_d_e.', 'see \u001b[4mhttps://a.b/c_d_e\u001b[m.'],
    ['unclosed **bold and `code', 'unclosed **bold and `code'],
    ['a &lt; b', 'a < b'],
    ['&#27;[31m &apos;', "␛[31m '"],
    ['注意:**重要（A）**です', '注意:\u001b[1m重要（A）\u001b[mです'],
    ['**`a`**の', '\u001b[1;36ma\u001b[mの'],
    ['**two  \nlines**', '\u001b[1mtwo\u001b[m\n\u001b[1mlines\u001b[m'],
    ['[a **b**](c)', '\u001b[4ma \u001b[m\u001b[1;4mb\u001b[m\u001b[2m (c)\u001b[m'],
    ['見てhttps://a.b/c。次', '見て\u001b[4mhttps://a.b/c\u001b[m。次'],
    ['<b>a</b> <!-- b --> a@b.c [d][e]', '<b>a</b> <!-- b --> a@b.c [d][e]'],
    ['# Title', '\u001b[1;4mTitle\u001b[m'],
    ['Title\n===', '\u001b[1;4mTitle\u001b[m'],
  ])('%j', (source, bytes) => {
    expect(painted(source)).toBe(bytes);
  });

  it('nests lists, numbers and tasks', () => {
    const source = '- one\n  - two\n    1. three\n- [x] done\n- [ ] open\n\ntext';
    expect(renderedLines(source)).toEqual([
      '• one',
      '  • two',
      '    1. three',
      '☑ done',
      '☐ open',
      '',
      'text',
    ]);
  });

  it('keeps indented text inside its item, even if it is indented too little', () => {
    expect(renderedLines('1. first\n  - inside\n\n   again\n2. second')).toEqual([
      '1. first',
      '   • inside',
      '',
      '   again',
      '2. second',
    ]);
  });

  it('keeps what is nested below a line that is indented too little', () => {
    expect(renderedLines('1. first\n  - inside\n    - deeper\n10. tenth\n  ```\n  code\n  ```')).toEqual([
      '1. first',
      '   • inside',
      '     • deeper',
      '10. tenth',
      '',
      '      code',
    ]);
  });

  it('shows indented code, and lines of HTML as they are', () => {
    expect(renderedLines('text\n\n    a  b\n\n      c\n\n<div>\n<p>')).toEqual([
      'text',
      '',
      '  a  b',
      '',
      '    c',
      '',
      '<div>',
      '<p>',
    ]);
  });

  it('shows fenced code unchanged, with its language above', () => {
    expect(renderedLines('```ts\nconst a = 1;\n\n  # no heading\n```\nafter')).toEqual([
      '  ts',
      '  const a = 1;',
      '',
      '    # no heading',
      '',
      'after',
    ]);
  });

  it('colours code line by line', () => {
    expect(painted('```py\nreturn "a" # why\n```')).toBe(
      '\u001b[2m  py\u001b[m\n  \u001b[35mreturn\u001b[m \u001b[32m"a"\u001b[m \u001b[2m# why\u001b[m',
    );
  });

  it('colours comments and strings that span lines', () => {
    expect(painted('```ts\n/* a\nconst b\n*/ const c = `d\n${1} e`;\n```').split('\n').slice(1)).toEqual([
      '  \u001b[2m/* a\u001b[m',
      '  \u001b[2mconst b\u001b[m',
      '  \u001b[2m*/\u001b[m \u001b[35mconst\u001b[m c = \u001b[32m`d\u001b[m',
      '  ${\u001b[33m1\u001b[m}\u001b[32m e`\u001b[m;',
    ]);
  });

  it('colours a comment of any length', () => {
    const lines = painted(`\`\`\`c\n/*\n${'return 1;\n'.repeat(500)}*/ return 1;\n\`\`\``).split('\n');
    expect(new Set(lines.slice(2, -1))).toEqual(new Set(['  \u001b[2mreturn 1;\u001b[m']));
    expect(lines.at(-1)).toContain('\u001b[35mreturn\u001b[m \u001b[33m1\u001b[m');
  });

  it('colours code in lists and quotes, and scripts in HTML', () => {
    expect(painted('- a\n\n  ```js\n  return\n  ```')).toContain('\u001b[35mreturn\u001b[m');
    expect(painted('```html\n<script>\nreturn\n</script>\n```')).toContain('\u001b[35mreturn\u001b[m');
  });

  it('leaves long lines and other languages plain, and colours diffs by their first column', () => {
    const long = `return ${'1'.repeat(600)}`;
    expect(painted(`\`\`\`js\n${long}\n\`\`\``)).not.toContain('\u001b[35m');
    expect(painted('```klingon\nreturn 1\n```')).toBe('\u001b[2m  klingon\u001b[m\n  return 1');
    expect(painted('```diff\n+return\n-1\n```').split('\n').slice(1)).toEqual([
      '  \u001b[32m+return\u001b[m',
      '  \u001b[31m-1\u001b[m',
    ]);
  });

  it('colours every language that the page about the chat lists', () => {
    const page = readFileSync('docs/chat.md', 'utf8');
    const [, list = ''] = /Code is coloured in ([^.]+)\./.exec(page) ?? [];
    const names = list.match(/`[^`]+`/g)?.map((name) => name.slice(1, -1)) ?? [];
    expect(names.length).toBeGreaterThan(40);
    expect(names.filter((name) => grammarOf(name) === undefined)).toEqual([]);
  });

  it('aligns tables by display width', () => {
    expect(renderedLines('| a | 数 | c |\n|---|--:|:-:|\n| 日本 | 1 | x |\n| b | 22 | 👩‍💻 |')).toEqual([
      'a    │ 数 │ c',
      '─────┼────┼───',
      '日本 │  1 │ x',
      'b    │ 22 │ 👩‍💻',
    ]);
  });

  it('wraps the cells of a wide table, and lists the rows if that is not enough', () => {
    const source = '| name | what it does |\n|---|---|\n| bash | runs a command and waits |';
    expect(renderedLines(source, 20)).toEqual([
      'name │ what it does',
      '─────┼──────────────',
      'bash │ runs a',
      '     │ command and',
      '     │ waits',
    ]);
    expect(renderedLines(source, 12)).toEqual([
      'name: bash',
      'what it',
      'does: runs a',
      'command and',
      'waits',
    ]);
  });

  it('renders quotes, rules and breaks', () => {
    expect(renderedLines('> said\n> twice\n>\n> - a\n\n---\none  \ntwo<br>three')).toEqual([
      '│ said twice',
      '│ ',
      '│ • a',
      '',
      '─'.repeat(40),
      '',
      'one',
      'two',
      'three',
    ]);
  });

  it('breaks Japanese between characters but not before a full stop, and Thai between words', () => {
    expect(renderedLines('これは長い文章です。はい', 18)).toEqual(['これは長い文章で', 'す。はい']);
    expect(renderedLines('ผมชอบเขียนโปรแกรม', 12)).toEqual(['ผมชอบเขียน', 'โปรแกรม']);
  });

  it('never outputs a control character', () => {
    expect(painted('a\u001b]0;title\u0007b\u009bc\u202ed\u0000')).toBe('a␛]0;title␇b\uFFFDc\uFFFDd␀');
    expect(painted('```\n\u001b[2J\n```')).toBe('  ␛[2J');
  });

  it('handles text that is expensive to parse', () => {
    for (const text of [
      '> '.repeat(4000),
      '- '.repeat(4000),
      '*a '.repeat(2000) + 'a* '.repeat(2000),
      '['.repeat(8000),
    ])
      expect(markdownLines(text, STYLE).every((line) => lineWidth(line) <= 40)).toBe(true);
    expect(renderedLines(`# a${' '.repeat(8000)}b`)).toHaveLength(2);
  });

  it.each([
    ['quotes', '>'.repeat(100_000)],
    ['lists', '- '.repeat(50_000)],
    ['quotes that continue without a mark', `${'> '.repeat(30)}a\nb\n`.repeat(20)],
    ['emphasis', '*a '.repeat(20_000) + 'a* '.repeat(20_000)],
    ['wide tables', `${'|a'.repeat(2000)}\n${'|-'.repeat(2000)}\n${'x\n'.repeat(2000)}`],
    ['short rows', `${'|a'.repeat(60)}\n${'|-'.repeat(60)}\n${'x\n'.repeat(300)}`],
    ['addresses', 'a.'.repeat(50_000) + '@'],
    ['brackets', '['.repeat(50_000) + ']('.repeat(25_000)],
    ['backticks', Array.from({ length: 500 }, (_, index) => '`'.repeat(index)).join(' ')],
  ])('handles hostile %s', (_, text) => {
    for (const line of markdownLines(text, STYLE)) expect(lineWidth(line)).toBeLessThanOrEqual(40);
  });

  it('keeps its markup without colours', () => {
    const lines = markdownLines('## A **b** `c` [d](e)', { ...STYLE, marks: true });
    expect(lines.map(lineText)).toEqual(['## A **b** `c` [d](e)']);
  });
});

describe('markdown as it streams in', () => {
  it('produces the same lines for any chunking', () => {
    fc.assert(
      fc.property(chunked(markdown), fc.integer({ min: 10, max: 60 }), ({ whole, chunks }, width) => {
        const lines = streamed(chunks, width);
        expect(lines.map(lineText)).toEqual(renderedLines(whole, width));
      }),
      { numRuns: 300 },
    );
  });

  it('shows at any time what the text so far renders to', () => {
    fc.assert(
      fc.property(chunked(markdown), ({ chunks }) => {
        const stream = new MarkdownStream(STYLE);
        const finished: Line[] = [];
        let soFar = '';
        for (const chunk of chunks) {
          finished.push(...stream.push(chunk));
          soFar += chunk;
          expect([...finished, ...stream.open()].map(lineText)).toEqual(renderedLines(soFar));
        }
      }),
    );
  });

  it('is never wider than the terminal, and outputs no sequences but colours', () => {
    fc.assert(
      fc.property(markdown, fc.integer({ min: 10, max: 60 }), (text, width) => {
        for (const line of markdownLines(text, { ...STYLE, width })) {
          expect(lineWidth(line)).toBeLessThanOrEqual(width);
          expect(paintLine(line, COLOURED).replace(/\p{Cc}\[[\d;]*m/gu, '')).not.toMatch(/\p{Cc}/u);
        }
      }),
      { numRuns: 300 },
    );
  });

  it('keeps at most the last block open: the lines of a long code block are finished one by one', () => {
    const stream = new MarkdownStream(STYLE);
    stream.push('text\n\n```\n');
    for (let index = 0; index < 100; index += 1) {
      expect(stream.push(`line ${index}\n`).map(lineText)).toEqual([`  line ${index}`]);
      expect(stream.open()).toEqual([]);
    }
  });

  it('colours a line of code when it is complete, and the last one at the end', () => {
    const stream = new MarkdownStream(STYLE);
    const paint = (lines: readonly Line[]) => lines.map((line) => paintLine(line, COLOURED));
    stream.push('```ts\nreturn');
    expect(paint(stream.open())).toEqual(['  return']);
    expect(paint(stream.push(' 1;\n'))).toEqual(['  \u001b[35mreturn\u001b[m \u001b[33m1\u001b[m;']);
    stream.push('return');
    expect(paint(stream.end())).toEqual(['  \u001b[35mreturn\u001b[m']);
  });

  it('renders a text in parts as marked lexes it as a whole', () => {
    fc.assert(
      fc.property(markdown, (text) => {
        const lines = text.trimEnd().split('\n');
        const source = lines.map((line) => `${sanitizeLine(line.replace(/\r$/, ''))}\n`).join('');
        const whole = blockLines(blocksOf(lexBlocks(source)), STYLE);
        expect(renderedLines(text.trimEnd())).toEqual(whole.map(lineText));
      }),
      { numRuns: 300 },
    );
  });

  it.each([
    ['list', (index: number) => `- item ${index}\n`, (index: number) => `• item ${index}`],
    [
      'item',
      (index: number) => `${index === 0 ? '1.' : '  '} - item ${index}\n`,
      (index: number) => `   • item ${index}`,
    ],
    ['quote', (index: number) => `> - item ${index}\n`, (index: number) => `│ • item ${index}`],
    [
      'code in an item',
      (index: number) => (index === 0 ? '- ```\n' : `  line ${index}\n`),
      (index: number) => `    line ${index}`,
    ],
    [
      'table',
      (index: number) => (index === 0 ? 'a | b\n--|--\n' : `${index} | row\n`),
      (index: number) => `${index}  │ row`,
    ],
  ])('finishes a long %s in parts', (_, source, shown) => {
    const stream = new MarkdownStream(STYLE);
    const finished: Line[] = [];
    for (let index = 0; index < 1000; index += 1) {
      finished.push(...stream.push(source(index)));
      expect(stream.open().length).toBeLessThan(600);
    }
    const all = [...finished, ...stream.end()].map((line) => lineText(line).replaceAll(/ +/g, ' '));
    for (let index = 3; index < 1000; index += 1) expect(all).toContain(shown(index).replaceAll(/ +/g, ' '));
    expect(all.length).toBeLessThan(1005);
  });

  it('produces the same lines for any chunking of long blocks', () => {
    const text = LONG_BLOCKS.join('\n');
    const whole = renderedLines(text);
    for (const size of [1, 7, 100])
      expect(streamed(text.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? [], 40).map(lineText)).toEqual(whole);
    expect(whole).toContain('  • end of the item');
    expect(whole.at(-1)).toBe('the end');
  });

  it('splits an endless line, at the same places for any chunking', () => {
    const text = `${'word '.repeat(5000)}\n\nend`;
    const cut = streamed(text.match(/[^]{1,7}/g) ?? [], 40);
    expect(cut.map(lineText)).toEqual(streamed([text], 40).map(lineText));
    const stream = new MarkdownStream(STYLE);
    stream.push(text);
    expect(stream.open().length).toBeLessThan(400);
  });
});

/** Blocks that are too long to be laid out with every delta. */
const LONG_BLOCKS = [
  'Some words of a line.\n'.repeat(600),
  `- an item\n${'  - a nested item with words\n'.repeat(150)}\n  - end of the item\n- next`,
  `\n> quoted\n${'> > twice\n'.repeat(300)}> once\n`,
  `a | b\n--|--\n${'x | a cell\n'.repeat(400)}wider than the others | y\n`,
  `1. code\n   \`\`\`ts\n${'   const a = 1;\n'.repeat(300)}   \`\`\`\n2. second\n`,
  '    indented code\n'.repeat(500),
  'the end',
];

function streamed(chunks: readonly string[], width: number): Line[] {
  const stream = new MarkdownStream({ ...STYLE, width });
  return [...chunks.flatMap((chunk) => stream.push(chunk)), ...stream.end()];
}
