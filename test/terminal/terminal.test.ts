import { EventEmitter } from 'node:events';
import { describe, expect, expectTypeOf, it } from 'vitest';
import {
  type Key,
  line,
  openTerminal,
  PlainOutput,
  type TerminalProcess,
  REAL_TIMER,
  type ScreenOutput,
  type OutputTarget,
  type Terminal,
  type TerminalInput,
  type TerminalOutput,
  lineText,
  wantsPlain,
} from '../../src/terminal/index.ts';
import { type Activity, activityLine, FRAME_MS, statusLine } from '../../src/cli/chat/screen/activity.ts';
import { duration } from '../../src/cli/output/duration.ts';
import { ManualTimer } from './manual-timer.ts';

class Input extends EventEmitter {
  raw = false;
  flowing = false;
  setRawMode(raw: boolean) {
    this.raw = raw;
  }
  resume() {
    this.flowing = true;
  }
  pause() {
    this.flowing = false;
  }
}

class Output extends EventEmitter {
  written = '';
  write(text: string): boolean {
    this.written += text;
    return true;
  }
  /** The modes that are on, according to `?…h` and `?…l`. */
  get modes(): string[] {
    const on = new Set<string>();
    for (const [, name = '', final] of this.written.matchAll(/\[\?(\d+)([hl])/g)) {
      if (final === 'h') on.add(name);
      else on.delete(name);
    }
    return [...on];
  }
}

class FakeProgram extends EventEmitter {
  readonly pid = 42;
  readonly killed: [number, string][] = [];
  kill(pid: number, signal: string) {
    this.killed.push([pid, signal]);
  }
}

function terminalFixture() {
  const [input, output, program, timer] = [new Input(), new Output(), new FakeProgram(), new ManualTimer()];
  const keys: Key[] = [];
  const events: string[] = [];
  const terminal: Terminal = openTerminal({
    input,
    output,
    program,
    timer,
    onKey: (key) => keys.push(key),
    onFocus: (hasFocus) => events.push(hasFocus ? 'focus' : 'blur'),
    onResize: () => events.push('resize'),
    onEnd: () => events.push('end'),
    onLeave: () => events.push('leave'),
    onContinue: () => events.push('continue'),
  });
  return { input, output, program, timer, keys, events, terminal };
}

const DEFAULT_MODES = ['7', '25'];

describe('the terminal', () => {
  it('is taken over and restored', () => {
    const { input, output, program, terminal } = terminalFixture();
    expect([input.raw, input.flowing, output.modes]).toEqual([true, true, ['2004', '1004']]);
    terminal.close();
    expect([input.raw, input.flowing, output.modes]).toEqual([false, false, DEFAULT_MODES]);
    expect(input.listenerCount('data') + output.listenerCount('resize') + program.eventNames().length).toBe(
      0,
    );
  });

  it('is restored when the process ends for any reason, and only once', () => {
    const { input, output, program, events } = terminalFixture();
    program.emit('exit');
    expect([input.raw, output.modes]).toEqual([false, DEFAULT_MODES]);
    const before = output.written;
    program.emit('exit');
    expect(output.written).toBe(before);
    expect(events).toEqual(['leave']);
  });

  it('is restored before a signal ends the process', () => {
    const { input, program } = terminalFixture();
    program.emit('SIGTERM');
    expect(input.raw).toBe(false);
    expect(program.killed).toEqual([[42, 'SIGTERM']]);
    expect(program.eventNames()).toEqual([]);
  });

  it('leaves ending the process to other listeners of the signal', () => {
    const { input, program } = terminalFixture();
    program.on('SIGTERM', () => {});
    program.emit('SIGTERM');
    expect(input.raw).toBe(false);
    expect(program.killed).toEqual([]);
  });

  it('is restored while the process is stopped and taken over again when it continues', () => {
    const { input, output, program, events, terminal } = terminalFixture();
    terminal.suspend();
    expect([input.raw, output.modes, program.killed]).toEqual([false, DEFAULT_MODES, [[42, 'SIGTSTP']]]);
    program.emit('SIGCONT');
    expect(input.raw).toBe(true);
    expect(output.modes).toContain('2004');
    expect(events).toEqual(['leave', 'continue']);
  });

  it('reports the focus of the window, which is not a key', () => {
    const { input, keys, events } = terminalFixture();
    input.emit('data', Buffer.from('a\u001b[O\u001b[Ib'));
    expect(events).toEqual(['blur', 'focus']);
    expect(keys).toEqual([
      { type: 'text', text: 'a' },
      { type: 'text', text: 'b' },
    ]);
  });

  it('reports keys and sizes; a single escape is a key after a moment', () => {
    const { input, output, timer, keys, events } = terminalFixture();
    input.emit('data', Buffer.from('a\u001b'));
    expect(keys).toEqual([{ type: 'text', text: 'a' }]);
    timer.pass(50);
    expect(keys.at(-1)).toEqual({ type: 'chord', chord: 'escape' });
    input.emit('data', Buffer.from('\u001b'));
    timer.pass(20);
    input.emit('data', Buffer.from('[A'));
    timer.pass(100);
    expect(keys.slice(2)).toEqual([{ type: 'chord', chord: 'up' }]);
    expect(timer.waiting).toBe(0);
    output.emit('resize');
    input.emit('end');
    expect(events).toEqual(['resize', 'end']);
  });

  it('can be that of this process', () => {
    expectTypeOf(process.stdin).toExtend<TerminalInput>();
    expectTypeOf(process.stdout).toExtend<TerminalOutput & ScreenOutput>();
    expectTypeOf(process).toExtend<TerminalProcess>();
  });
});

describe('without a terminal', () => {
  const tty = { stdin: { isTTY: true }, stdout: { isTTY: true } };

  it('all output is plain lines', () => {
    const output = new Output();
    const surface: OutputTarget = new PlainOutput(output);
    surface.print([line('red', { colour: 'red', bold: true }), line('\u001b[2Jx'), []]);
    surface.refresh();
    surface.close();
    expect(output.written).toBe('red\n␛[2Jx\n\n');
    expect(surface.size).toEqual({ columns: 80, rows: 24 });
  });

  it.each([
    [tty, {}, false],
    [tty, { TERM: 'xterm', NO_COLOR: '' }, false],
    [tty, { TERM: 'dumb' }, true],
    [tty, { NO_COLOR: '1' }, false],
    [{ ...tty, stdout: {} }, {}, true],
    [{ ...tty, stdin: {} }, {}, true],
  ])('%j %j is plain: %s', (streams, env, plain) => {
    expect(wantsPlain(streams, env)).toBe(plain);
  });
});

describe('time', () => {
  it.each([
    [40, '0 s'],
    [1234, '1.2 s'],
    [12_345, '12 s'],
    [65_000, '1 min 5 s'],
    [3_700_000, '1 h 1 min'],
  ])('%i ms is %s', (ms, text) => {
    expect(duration(ms)).toBe(text);
  });

  it('fires, unless it is cancelled', async () => {
    const happened: string[] = [];
    await new Promise<void>((settle) => {
      const cancel = REAL_TIMER.after(0, () => happened.push('cancelled'));
      REAL_TIMER.after(1, () => {
        happened.push('done');
        settle();
      });
      cancel();
    });
    expect(happened).toEqual(['done']);
    expect(REAL_TIMER.now()).toBeGreaterThan(0);
  });
});

describe('the status lines', () => {
  it('show the current activity, and fit', () => {
    const activity: Activity = { text: 'bash npm test', elapsedMs: 12_000, notes: ['~340 tokens'] };
    expect(lineText(activityLine(activity, 60))).toBe('⠋ bash npm test 12 s · ~340 tokens');
    expect(lineText(activityLine({ ...activity, elapsedMs: FRAME_MS }, 60))).toBe(
      '⠙ bash npm test 0.1 s · ~340 tokens',
    );
    expect(lineText(activityLine(activity, 20))).toBe('⠋ bash npm test 12 …');
    expect(lineText(statusLine('~/work', 'claude · 12 %', 30))).toBe('~/work           claude · 12 %');
    expect(lineText(statusLine('~/work', 'claude · 12 %', 18))).toBe('~/work');
  });
});
