import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { COLOURED, paintLine, lineText, lineWidth } from '../../src/terminal/index.ts';
import { FoldedCards } from '../../src/cli/chat/screen/folded-cards.ts';
import { type CardStyle, cardLines, messageLines, noticeLines } from '../../src/cli/chat/screen/cards.ts';
import type { Card, CardStatus, NoticeTone, ThoughtCard, ToolCard } from '../../src/cli/chat/view/card.ts';
import { words } from './samples.ts';

const STYLE: CardStyle = { width: 40, expanded: false, key: 'ctrl-o' };
const CALL: ToolCard = {
  type: 'tool',
  title: 'bash npm test',
  status: 'done',
  durationMs: 1234,
  summary: '',
  diff: '',
  output: '',
};

const renderedLines = (card: Card, style = STYLE) => cardLines(card, style).map(lineText);
const numbered = (count: number, start = '') =>
  Array.from({ length: count }, (_, index) => `${start}${index + 1}`).join('\n');

describe('a card', () => {
  it('is one line with the outcome and the duration', () => {
    expect(renderedLines(CALL)).toEqual(['✓ bash npm test  1.2 s']);
    const early = (status: CardStatus) => renderedLines({ ...CALL, status, durationMs: undefined });
    expect(early('running')).toEqual(['● bash npm test']);
    expect(early('waiting')).toEqual(['? bash npm test waits for approval']);
  });

  it('keeps the duration if the title is too long', () => {
    expect(renderedLines({ ...CALL, title: `bash ${'日本語'.repeat(20)}` })[0]).toMatch(
      /^✓ bash 日本.*…  1\.2 s$/,
    );
  });

  it('shows the start of a diff in colours, and how many lines are missing', () => {
    const diff = `--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-old\n+new\n${numbered(47, ' ')}\n`;
    expect(renderedLines({ ...CALL, diff }).slice(-2)).toEqual(['   7', '  … 40 more lines (ctrl-o)']);
    const painted = cardLines({ ...CALL, diff }, STYLE).map((line) => paintLine(line, COLOURED));
    expect(painted).toContain('  \u001b[31m-old\u001b[m');
    expect(painted).toContain('  \u001b[32m+new\u001b[m');
    expect(renderedLines({ ...CALL, diff }, { ...STYLE, expanded: true })).toHaveLength(1 + 52);
  });

  it("shows the end of a command's output", () => {
    expect(renderedLines({ ...CALL, output: numbered(100, 'line ') })).toEqual([
      '✓ bash npm test  1.2 s',
      '  … 95 lines before (ctrl-o)',
      ...[96, 97, 98, 99, 100].map((number) => `  line ${number}`),
    ]);
  });

  it('is red if the call failed', () => {
    const lines = cardLines({ ...CALL, status: 'failed', summary: 'exit code 1', output: 'boom' }, STYLE);
    expect(lines.map((line) => paintLine(line, COLOURED))).toEqual([
      '\u001b[31m✗ \u001b[m\u001b[1mbash npm test\u001b[m\u001b[31m failed\u001b[m\u001b[2m  1.2 s\u001b[m',
      '  \u001b[31mexit code 1\u001b[m',
      '  \u001b[31mboom\u001b[m',
    ]);
  });

  it('shows the last state of a line that a progress bar rewrote', () => {
    expect(renderedLines({ ...CALL, output: ' 10%\r 50%\r100%\r\ndone\r\n' }).slice(1)).toEqual([
      '  100%',
      '  done',
    ]);
  });

  it("removes the colours of a command's output, and shows other sequences", () => {
    expect(renderedLines({ ...CALL, output: '\u001b[32mok\u001b[0m \u001b[2Jgone' }).slice(1)).toEqual([
      '  ok ␛[2Jgone',
    ]);
  });

  it('folds thoughts to one line', () => {
    const thought: ThoughtCard = {
      type: 'thought',
      text: 'First **this**.\n\nThen that.',
      durationMs: 65_000,
    };
    expect(renderedLines(thought)).toEqual(['✻ thought for 1 min 5 s (ctrl-o)']);
    expect(renderedLines(thought, { ...STYLE, expanded: true })).toEqual([
      '✻ thought for 1 min 5 s',
      '  First this.',
      '',
      '  Then that.',
    ]);
  });

  it('can be printed in full later, newest first', () => {
    const cards = new FoldedCards();
    cards.print(CALL, STYLE);
    cards.print({ ...CALL, title: 'older', output: numbered(20) }, STYLE);
    cards.print({ ...CALL, title: 'newer', output: numbered(30) }, STYLE);
    expect(cards.expand(STYLE)).toHaveLength(31);
    expect(cards.expand(STYLE)).toHaveLength(21);
    expect(cards.expand(STYLE)).toBeUndefined();
  });

  it('is never wider than the terminal and contains no control characters', () => {
    const text = fc.array(fc.oneof(words, fc.constantFrom('\u001b[2J', '\t', '\n', '\r', '+', '-')), {
      maxLength: 20,
    });
    const card = fc.record({ title: text, summary: text, diff: text, output: text }).map(
      (parts): Card => ({
        ...CALL,
        title: parts.title.join(''),
        summary: parts.summary.join(''),
        diff: parts.diff.join(''),
        output: parts.output.join(''),
      }),
    );
    fc.assert(
      fc.property(card, fc.integer({ min: 20, max: 60 }), fc.boolean(), (each, width, expanded) => {
        for (const line of cardLines(each, { ...STYLE, width, expanded })) {
          expect(lineWidth(line)).toBeLessThanOrEqual(width);
          expect(lineText(line)).not.toMatch(/\p{Cc}/u);
        }
      }),
    );
  });
});

describe('other lines', () => {
  it('shows user messages and notices', () => {
    expect(messageLines('a long question\nof two lines', 12).map(lineText)).toEqual([
      '❯ a long',
      '  question',
      '  of two',
      '  lines',
    ]);
    const notice = (text: string, tone: NoticeTone) => noticeLines(text, tone, 40).map(lineText);
    expect(notice('ada approved through hld', 'quiet')).toEqual(['· ada approved through hld']);
    expect(notice('retrying in 2 s', 'warning')).toEqual(['! retrying in 2 s']);
  });
});
