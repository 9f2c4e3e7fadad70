import * as fc from 'fast-check';
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
} from '../../src/terminal/index.ts';
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

  it('splits an endless line, at the same places for any chunking', () => {
    const text = `${'word '.repeat(5000)}\n\nend`;
    const cut = streamed(text.match(/[^]{1,7}/g) ?? [], 40);
    expect(cut.map(lineText)).toEqual(streamed([text], 40).map(lineText));
    const stream = new MarkdownStream(STYLE);
    stream.push(text);
    expect(stream.open().length).toBeLessThan(400);
  });
});

function streamed(chunks: readonly string[], width: number): Line[] {
  const stream = new MarkdownStream({ ...STYLE, width });
  return [...chunks.flatMap((chunk) => stream.push(chunk)), ...stream.end()];
}
