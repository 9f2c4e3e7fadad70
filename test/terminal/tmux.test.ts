import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Compiled, compiled } from '../compiled.ts';
import { demoCommand, hasTmux, openDemo, type Pane } from './tmux.ts';

/** Parts of the chat that the demo also shows: cards and approvals. */
const CHAT_PARTS = [
  'screen/activity',
  'screen/approval-dialog',
  'screen/approval-lines',
  'screen/folded-cards',
  'screen/cards',
].map((name) => `src/cli/chat/${name}.ts`);

/** Returns the lines from the first line of the demo on. */
function demoLines(lines: readonly string[]): string[] {
  return lines.slice(lines.indexOf('· ready'));
}

const has = (text: string) => (lines: readonly string[]) => lines.some((line) => line.includes(text));

async function submit(pane: Pane, text: string): Promise<void> {
  pane.type(text);
  await pane.see(has(`> ${text}`));
  pane.press('Enter');
}

const ANSWER = [
  '❯ md',
  '見出し',
  '',
  'これは強調された長い日本語の文章です。折り返しても文字の途中',
  'では切れません。',
  '',
  '• one',
  '• two with code',
  '',
  'a  │ b',
  '───┼──',
  '語 │ 2',
  '',
  '  ts',
  '  const x = 1;',
  '· finished',
];

describe.runIf(hasTmux)('on a real terminal', () => {
  let built: Compiled | undefined;
  let demo = '';
  beforeAll(() => {
    built = compiled('src/terminal/index.ts', ...CHAT_PARTS);
    demo = demoCommand(built);
  });
  afterAll(() => built?.remove());

  test('an answer streams into the scrollback and is complete there', async () => {
    const pane = await openDemo(demo, 60, 10);
    await submit(pane, 'md');
    await pane.see(has('· finished'));
    await pane.see((lines) => lines.at(-2) === '> say something');
    expect(demoLines(pane.all()).slice(0, -1)).toEqual(['· ready', ...ANSWER, '> say something']);
    expect(pane.screen()).toHaveLength(10);
  });

  test('after the window became narrower and wider, no line is duplicated or missing', async () => {
    const pane = await openDemo(demo, 60, 12);
    await submit(pane, 'md');
    await pane.see(has('· finished'));
    pane.type('a draft that is longer than thirty columns');
    await pane.see(has('thirty columns'));
    for (const [columns, rows] of [
      [30, 12],
      [80, 12],
      [45, 20],
      [60, 12],
    ] as const) {
      pane.resize(columns, rows);
      await pane.see((lines) => lines.at(-1)?.endsWith(`${columns}x${rows}`) === true);
    }
    expect(demoLines(pane.all()).slice(0, -1)).toEqual([
      '· ready',
      ...ANSWER,
      '> a draft that is longer than thirty columns',
    ]);
  });

  test('a live area taller than the window shows its end and leaves nothing behind', async () => {
    const pane = await openDemo(demo, 40, 8);
    await submit(pane, 'tall');
    await pane.see(has('tall 59'));
    expect(pane.screen().slice(0, 2)).toEqual(['tall 54', 'tall 55']);
    await submit(pane, 'card');
    await pane.see(has('bash make'));
    const left = ['· ready', '❯ tall', '❯ card', '✓ bash make  2.0 s', '  … 25 lines before (ctrl-o)'];
    // A capture may be taken during a repaint: only the final state counts.
    await pane.see(
      (lines) =>
        lines.at(-2) === '> say something' && demoLines(lines).slice(0, 5).join('\n') === left.join('\n'),
    );
    pane.press('C-o');
    await pane.see(has('output 0'));
  });

  test('wide characters, a paste, a menu and a new line arrive', async () => {
    const pane = await openDemo(demo, 60, 14);
    pane.type('日本');
    pane.press('M-Enter');
    pane.type('x');
    pane.press('Up', 'Left');
    pane.type('|');
    await pane.see(has('> |日本'));
    pane.press('C-c');
    pane.paste(Array.from({ length: 12 }, (_, index) => `line ${index}`).join('\n'));
    await pane.see(has('> [pasted 12 lines]'));
    pane.press('C-c');
    pane.type('/');
    await pane.see(has('❯ /help   a command'));
    pane.press('Down', 'Enter');
    await pane.see(has('> /model'));
    expect(pane.screen().join('\n')).not.toContain('/help');
  });

  test('a question is answered with a key', async () => {
    const pane = await openDemo(demo, 60, 14);
    await submit(pane, 'ask');
    await pane.see(has('always means: bash rm *'));
    pane.type('n');
    await pane.see(has('What should it do instead?'));
    pane.type('no');
    pane.press('Enter');
    await pane.see(has('answered {"type":"deny","comment":"no"}'));
    expect(demoLines(pane.all()).slice(0, 7)).toEqual([
      '· ready',
      '❯ ask',
      '? bash wants to run',
      '  Nobody allowed it.',
      '',
      '  rm -rf build',
      '· answered {"type":"deny","comment":"no"}',
    ]);
  });

  test('the shell gets its terminal back: at the end, while stopped, and after a crash', async () => {
    const pane = await openDemo(demo, 60, 30);
    pane.press('C-z');
    await pane.see((lines) => lines.at(-1) === '$');
    pane.type('stty -a | tr " ;" "\\n\\n" | grep -x -e icanon -e echo | sort | xargs echo stopped');
    pane.press('Enter');
    await pane.see((lines) => lines.includes('stopped echo icanon'));
    pane.type('fg');
    pane.press('Enter');
    await pane.see((lines) => lines.at(-1)?.startsWith('demo') === true);
    await submit(pane, 'crash');
    await pane.see((lines) => lines.at(-1) === '$');
    pane.type('stty -a | tr " ;" "\\n\\n" | grep -x -e icanon -e echo | sort | xargs echo crashed');
    pane.press('Enter');
    await pane.see((lines) => lines.includes('crashed echo icanon'));
    expect(pane.all().filter((line) => /^(?:demo|> ) /.test(line))).toEqual([]);
    expect(pane.all().join('\n')).toContain('SyntaxError');
    pane.type(demo);
    pane.press('Enter');
    await pane.see((lines) => lines.at(-1)?.startsWith('demo') === true);
    pane.press('C-d');
    await pane.see((lines) => lines.at(-1) === '$');
  });
});
