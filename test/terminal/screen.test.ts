import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  COLOURED,
  fitLine,
  type Line,
  type LiveArea,
  line,
  MarkdownStream,
  Screen,
  stackLive,
  staticLive,
  lineText,
  lineWidth,
} from '../../src/terminal/index.ts';
import { ManualTimer } from './manual-timer.ts';
import { words } from './samples.ts';
import { Vt, withoutEmptyEnd } from './vt.ts';

const HERE = { row: 0, column: 0 };
const SETTLED_MS = 300;

/** A screen on a terminal with a live area that the test sets. */
function screenFixture({ columns = 20, rows = 10, accepts = (): boolean => true } = {}) {
  const vt = new Vt(columns, rows);
  const timer = new ManualTimer();
  const writes: string[] = [];
  let unnoticed: number | undefined;
  let onDrain = (): void => {};
  const output = {
    get columns() {
      return unnoticed ?? vt.columns;
    },
    get rows() {
      return vt.rows;
    },
    write(text: string) {
      writes.push(text);
      vt.write(text);
      return accepts();
    },
    once: (_: 'drain', listener: () => void) => {
      onDrain = listener;
    },
  };
  let live: LiveArea & { readonly redrawAfterMs?: number } = staticLive([]);
  let drawn = 0;
  const draw = () => {
    drawn += 1;
    return live;
  };
  const screen = new Screen({ output, paint: COLOURED, timer, draw });
  return {
    vt,
    timer,
    writes,
    screen,
    drawn: () => drawn,
    drain: () => onDrain(),
    /** Changes the terminal's width, which the program does not learn before `notice`. */
    resizeUnnoticed(next: number) {
      unnoticed ??= vt.columns;
      vt.mayOverflow = true;
      vt.resize(next, rows);
    },
    notice() {
      unnoticed = undefined;
      screen.resized();
      timer.pass(SETTLED_MS);
      vt.mayOverflow = false;
    },
    show(next: LiveArea & { readonly redrawAfterMs?: number }) {
      live = next;
      screen.refresh();
      timer.pass(20);
    },
  };
}

const lines = (...texts: readonly string[]): Line[] => texts.map((text) => line(text));

describe('the screen', () => {
  it('scrolls finished lines up and keeps the live area below', () => {
    const { vt, screen, show } = screenFixture({ rows: 3 });
    show({ lines: lines('> input'), cursor: { row: 0, column: 7 } });
    screen.print(lines('one', 'two', 'three'));
    show({ lines: lines('working', '> input'), cursor: { row: 1, column: 7 } });
    expect(vt.text).toEqual(['one', 'two', 'three', 'working', '> input']);
    expect(vt.screen).toEqual(['three', 'working', '> input']);
    expect(vt.cursor).toEqual({ line: 4, column: 7 });
  });

  it('writes only the rows that changed', () => {
    const { writes, show } = screenFixture();
    show({ lines: lines('aaa', 'bbb', 'ccc'), cursor: { row: 2, column: 3 } });
    show({ lines: lines('aaa', 'bbX', 'ccc'), cursor: { row: 2, column: 3 } });
    expect(writes.at(-1)).toBe('\u001b[A\rbbX\u001b[B');
    show({ lines: lines('aaa and more', 'bbX', 'ccc'), cursor: { row: 2, column: 3 } });
    expect(writes.at(-1)).toBe('\u001b[2A and more\u001b[2B\u001b[4G');
  });

  it('rewrites a row if terminals disagree about the width of its characters', () => {
    const { writes, show } = screenFixture();
    show({ lines: lines('• one'), cursor: HERE });
    show({ lines: lines('• one two'), cursor: HERE });
    expect(writes.at(-1)).toBe('• one two\r');
    show({ lines: lines('👩‍💻'), cursor: HERE });
    expect(writes.at(-1)).toBe('\u001b[?7l\u001b[K👩‍💻\r\u001b[?7h');
  });

  it('writes nothing for a live line that becomes finished', () => {
    const { vt, writes, screen, show } = screenFixture();
    show({ lines: lines('first', 'second'), cursor: undefined });
    const before = writes.length;
    screen.print(lines('first'));
    show({ lines: lines('second'), cursor: undefined });
    expect(writes.length).toBe(before);
    screen.print(lines('second'));
    show(staticLive([]));
    expect(vt.text).toEqual(['first', 'second']);
  });

  it('redraws the whole screen after another program has written to it, and nothing twice', () => {
    const { vt, screen, show } = screenFixture({ rows: 4 });
    const live = { lines: lines('working', '> input'), cursor: { row: 1, column: 7 } };
    screen.print(lines('one', 'two', 'three'));
    show(live);
    vt.write('\rgarbage\r\nmore garbage');
    screen.redraw();
    expect(vt.screen).toEqual(['two', 'three', 'working', '> input']);
    expect(vt.text).toEqual(['one', 'two', ...vt.screen]);
    screen.print(lines('four'));
    show(live);
    expect(vt.screen).toEqual(['three', 'four', 'working', '> input']);
    screen.redraw();
    expect(vt.screen).toEqual(['three', 'four', 'working', '> input']);
  });

  it('writes nothing and runs no timer if nothing changed', () => {
    const { timer, writes, show, drawn } = screenFixture();
    show({ lines: lines('same'), cursor: HERE });
    const before = writes.length;
    show({ lines: lines('same'), cursor: HERE });
    expect(writes.length).toBe(before);
    expect(timer.waiting).toBe(0);
    const draws = drawn();
    timer.pass(10_000);
    expect(drawn()).toBe(draws);
  });

  it('combines the changes of one frame', () => {
    const { timer, screen, drawn } = screenFixture();
    screen.refresh();
    timer.pass(0);
    for (let index = 0; index < 100; index += 1) screen.refresh();
    expect(drawn()).toBe(1);
    timer.pass(15);
    expect(drawn()).toBe(1);
    timer.pass(1);
    expect(drawn()).toBe(2);
  });

  it('redraws automatically only while the live area requests it', () => {
    const { timer, show, drawn } = screenFixture();
    show({ ...staticLive(lines('spinner')), redrawAfterMs: 100 });
    const draws = drawn();
    timer.pass(1000);
    expect(drawn()).toBe(draws + 10);
    show(staticLive(lines('done')));
    timer.pass(1000);
    expect(timer.waiting).toBe(0);
  });

  it('waits for a slow connection instead of queueing frames', () => {
    let accepts = false;
    const { timer, screen, show, drawn, drain } = screenFixture({ accepts: () => accepts });
    show(staticLive(lines('one')));
    const draws = drawn();
    for (let index = 0; index < 10; index += 1) {
      screen.print(lines(`line ${index}`));
      timer.pass(100);
    }
    expect(drawn()).toBe(draws);
    accepts = true;
    drain();
    timer.pass(20);
    expect(drawn()).toBe(draws + 1);
  });

  it('keeps the last character of a row that ends exactly at the last column', () => {
    const { vt, show } = screenFixture({ columns: 5 });
    show({ lines: lines('longer'.slice(0, 5), 'abcde'), cursor: { row: 1, column: 4 } });
    show({ lines: lines('12345', 'vwxyz'), cursor: { row: 1, column: 4 } });
    expect(vt.text).toEqual(['12345', 'vwxyz']);
    show({ lines: lines('1', 'vwxyz'), cursor: { row: 0, column: 1 } });
    expect(vt.text).toEqual(['1', 'vwxyz']);
  });

  it('shows the end of a live area that is taller than the terminal, and all of it once finished', () => {
    const { vt, screen, show } = screenFixture({ rows: 4 });
    const tall = lines('1', '2', '3', '4', '5', '6');
    show(stackLive([staticLive(tall), { lines: lines('> '), cursor: { row: 0, column: 2 } }]));
    expect(vt.text).toEqual(['4', '5', '6', '>']);
    screen.print(tall);
    show({ lines: lines('> '), cursor: { row: 0, column: 2 } });
    expect(vt.text).toEqual(['1', '2', '3', '4', '5', '6', '>']);
  });

  it('writes nothing while the size changes, and then locates its live area again', () => {
    const { vt, timer, writes, screen, show } = screenFixture({ columns: 30 });
    screen.print(lines('said before'));
    show({ lines: lines('a row of twenty-six columns', '> '), cursor: { row: 1, column: 2 } });
    const before = writes.length;
    for (const columns of [20, 12, 25]) {
      vt.resize(columns, 10);
      screen.resized();
      screen.print(lines(`said at ${columns}`));
      timer.pass(SETTLED_MS - 1);
    }
    expect(writes.length).toBe(before);
    timer.pass(20);
    const printed = ['said before', 'said at 20', 'said at 12', 'said at 25'];
    expect(vt.text).toEqual([...printed, 'a row of twenty-six colu…', '>']);
  });

  it('draws the cursor of a moving live area on a full screen, and keeps the real one at the first row', () => {
    const { vt, writes, show } = screenFixture({ rows: 3 });
    show({ lines: lines('spinner', '> input', 'status'), cursor: { row: 1, column: 2 }, redrawAfterMs: 100 });
    expect(vt.cursor).toEqual({ line: 0, column: 0 });
    expect(vt.modes).not.toContain('?25');
    expect(writes.at(-1)).toContain('> \u001b[7mi\u001b[mnput');
    show({ lines: lines('spinner', '> input', 'status'), cursor: { row: 1, column: 7 }, redrawAfterMs: 100 });
    expect(writes.at(-1)).toContain('> input\u001b[7m \u001b[m');
    show({ lines: lines('> input', 'status'), cursor: { row: 0, column: 7 } });
    expect(vt.cursor).toEqual({ line: 0, column: 7 });
    expect(vt.modes).toContain('?25');
  });

  it('erases its live area if it is closed before the size has settled', () => {
    const { vt, screen, show } = screenFixture({ columns: 30 });
    show({ lines: lines('a row of twenty-six columns', '> '), cursor: { row: 1, column: 2 } });
    vt.resize(12, 10);
    screen.resized();
    screen.print(lines('last words'));
    screen.close();
    expect(vt.text).toEqual(['last words']);
  });

  it('hides the cursor while there is no input', () => {
    const { vt, show } = screenFixture();
    show({ lines: lines('> '), cursor: { row: 0, column: 2 } });
    expect(vt.modes).toEqual(new Set());
    show(staticLive(lines('working')));
    expect(vt.modes).not.toContain('?25');
    show({ lines: lines('> '), cursor: { row: 0, column: 2 } });
    expect(vt.modes).toContain('?25');
  });

  it('leaves the finished lines and an empty row when it closes', () => {
    const { vt, screen, show } = screenFixture();
    show({ lines: lines('> draft', 'status'), cursor: { row: 0, column: 7 } });
    screen.print(lines('last words'));
    screen.close();
    screen.refresh();
    expect(vt.text).toEqual(['last words']);
    expect(vt.cursor).toEqual({ line: 1, column: 0 });
  });

  it('streams markdown with only the new bytes', () => {
    const { vt, timer, screen, show } = screenFixture({ columns: 60, rows: 20 });
    const stream = new MarkdownStream({ width: 60, base: {}, marks: false });
    const text = `${'Some words of an answer. '.repeat(40)}\n\n`.repeat(5);
    for (const delta of text.match(/[^]{1,6}/g) ?? []) {
      screen.print(stream.push(delta));
      show(staticLive(stream.open()));
      timer.pass(20);
    }
    expect(vt.text.join(' ').match(/answer/g)).toHaveLength(200);
    // The text itself, plus the cursor movement for every delta.
    expect(vt.bytes).toBeLessThan(text.length + (text.length / 6) * 12);
  });
});

describe('for any content', () => {
  const content = fc.array(
    words.map((text) => line(text, text.length % 2 === 0 ? { bold: true } : {})),
    { maxLength: 4 },
  );
  const move = fc.record({
    finished: content,
    live: content,
    row: fc.nat(3),
    column: fc.nat(30),
    hidden: fc.boolean(),
    columns: fc.option(fc.integer({ min: 12, max: 40 }), { freq: 5 }),
  });

  it('the terminal shows the finished lines, then the live ones, with the cursor in position', () => {
    fc.assert(
      fc.property(fc.array(move, { maxLength: 12 }), (moves) => {
        const { vt, timer, screen, show } = screenFixture({ columns: 30, rows: 24 });
        let above: string[] = [];
        for (const { finished, live, row, column, hidden, columns } of moves) {
          if (columns !== null) {
            vt.resize(columns, 24);
            screen.resized();
            timer.pass(SETTLED_MS);
          }
          const fitted = live.map((each) => fitLine(each, vt.columns));
          const rows = fitted.length === 0 ? [line('')] : fitted;
          const at = Math.min(row, rows.length - 1);
          const cursor = { row: at, column: Math.min(column, vt.columns - 1) };
          screen.print(finished.map((each) => fitLine(each, vt.columns)));
          above = [...above, ...finished.map((each) => lineText(fitLine(each, vt.columns)).trimEnd())];
          show({ lines: rows, cursor: hidden ? undefined : cursor });
          expect(vt.text).toEqual(
            withoutEmptyEnd([...above, ...rows.map((each) => lineText(each).trimEnd())]),
          );
          if (!hidden) expect(vt.cursor).toEqual({ line: above.length + at, column: cursor.column });
          expect(rows.every((each) => lineWidth(each) <= vt.columns)).toBe(true);
        }
      }),
      { numRuns: 200 },
    );
  });

  it('on a full screen, frames that arrive before the new width is known damage no finished line', () => {
    const late = fc.record({
      finished: content,
      live: content,
      row: fc.nat(3),
      column: fc.nat(30),
      columns: fc.option(fc.integer({ min: 12, max: 40 })),
      isNoticed: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(late, { maxLength: 12 }), (moves) => {
        const { vt, screen, show, resizeUnnoticed, notice } = screenFixture({ columns: 30, rows: 24 });
        const above: string[] = [];
        const print = (printed: readonly Line[]) => {
          const fitted = printed.map((each) => fitLine(each, screen.size.columns));
          above.push(...fitted.map((each) => lineText(each).trimEnd()));
          screen.print(fitted);
        };
        print(Array.from({ length: 24 }, (_, index) => line(`line ${index}`)));
        for (const { finished, live, row, column, columns, isNoticed } of moves) {
          show({ ...staticLive(live), redrawAfterMs: 100 });
          if (columns !== null) resizeUnnoticed(columns);
          print(finished);
          const cursor = { row: Math.min(row, Math.max(0, live.length - 1)), column };
          show({ lines: live, cursor, redrawAfterMs: 100 });
          if (isNoticed) notice();
        }
        notice();
        show({ lines: lines('> '), cursor: { row: 0, column: 2 } });
        expect(vt.text).toEqual([...above, '>']);
      }),
      { numRuns: 300 },
    );
  });
});
