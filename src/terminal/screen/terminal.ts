import { FOCUS_IN, FOCUS_OUT } from '../keys/escape-sequence.ts';
import type { Key } from '../keys/key.ts';
import { KeyDecoder } from '../keys/key-decoder.ts';
import type { Timer } from './timer.ts';

/** The source of keys, such as Node's stdin. */
export interface TerminalInput {
  on(event: 'data', listener: (bytes: Buffer) => void): unknown;
  on(event: 'end', listener: () => void): unknown;
  off(event: 'data', listener: (bytes: Buffer) => void): unknown;
  off(event: 'end', listener: () => void): unknown;
  setRawMode?(raw: boolean): unknown;
  resume(): unknown;
  pause(): unknown;
}

export interface TerminalOutput {
  write(text: string): boolean;
  on(event: 'resize', listener: () => void): unknown;
  off(event: 'resize', listener: () => void): unknown;
}

type Signal = 'SIGCONT' | 'SIGTERM' | 'SIGHUP';

/** The process functions that the terminal needs, such as Node's `process`. */
export interface TerminalProcess {
  readonly pid: number;
  on(event: Signal | 'exit', listener: () => void): unknown;
  off(event: Signal | 'exit', listener: () => void): unknown;
  listenerCount(event: Signal): number;
  kill(pid: number, signal: string): unknown;
}

export interface TerminalOptions {
  readonly input: TerminalInput;
  readonly output: TerminalOutput;
  readonly program: TerminalProcess;
  readonly timer: Timer;
  readonly onKey: (key: Key) => void;
  /** Called when the window gets or loses the focus, in terminals that report it. */
  readonly onFocus?: (hasFocus: boolean) => void;
  readonly onResize: () => void;
  /** Called when the terminal has closed and no more keys follow. */
  readonly onEnd: () => void;
  /** Called before the terminal is restored, for any reason: the moment to erase the live area. */
  readonly onLeave: () => void;
  /** Called when the process continues after it was stopped. */
  readonly onContinue: () => void;
}

export interface Terminal {
  /** Restores the terminal and stops the process, as ctrl-z does; `onContinue` follows when it continues. */
  suspend(): void;
  /** Restores the terminal for another program, and takes it over again when that program has ended. */
  lend<T>(use: () => Promise<T>): Promise<T>;
  /** Restores the terminal. */
  close(): void;
}

/** How long an escape character waits for the rest of its sequence before it counts as the Escape key. */
const ESCAPE_MS = 50;

/** Enables bracketed paste, and distinct codes for keys that otherwise send the same: shift-enter and enter. */
const ENTER = '\u001b[?2004h\u001b[>4;1m\u001b[>1u';
const REPORT_FOCUS = '\u001b[?1004h';
const LEAVE = '\u001b[?1004l\u001b[<u\u001b[>4m\u001b[?2004l\u001b[?2026l\u001b[?7h\u001b[?25h\u001b[m';

/** Takes over the keyboard of a terminal, and restores it however the process ends. */
export function openTerminal(options: TerminalOptions): Terminal {
  const { input, output, program, timer, onKey, onFocus, onResize, onEnd, onLeave, onContinue } = options;
  const decoder = new KeyDecoder();
  let forgetEscape = (): void => {};
  let isOurs = false;
  let isLent = false;

  const deliver = (key: Key): void => {
    const name = key.type === 'chord' ? key.chord : '';
    if (name === FOCUS_IN || name === FOCUS_OUT) onFocus?.(name === FOCUS_IN);
    else onKey(key);
  };
  const onData = (bytes: Buffer): void => {
    forgetEscape();
    decoder.push(bytes).forEach(deliver);
    if (decoder.isWaiting) forgetEscape = timer.after(ESCAPE_MS, () => decoder.flush().forEach(onKey));
  };
  const enter = (): void => {
    isOurs = true;
    // Node assumes that the mode is unchanged since before the stop, so it has to be switched off and on.
    input.setRawMode?.(false);
    input.setRawMode?.(true);
    output.write(onFocus === undefined ? ENTER : ENTER + REPORT_FOCUS);
  };
  const leave = (): void => {
    if (!isOurs) return;
    isOurs = false;
    onLeave();
    output.write(LEAVE);
    input.setRawMode?.(false);
  };
  const continueSession = (): void => {
    if (isLent) return;
    enter();
    onContinue();
  };
  const ended = (signal: Signal) => (): void => {
    leave();
    // Without another listener the signal ends the process, as it would by default.
    if (program.listenerCount(signal) > 1) return;
    close();
    program.kill(program.pid, signal);
  };
  const listeners = [
    ['exit', leave],
    ['SIGCONT', continueSession],
    ['SIGTERM', ended('SIGTERM')],
    ['SIGHUP', ended('SIGHUP')],
  ] as const;

  function close(): void {
    forgetEscape();
    leave();
    input.off('data', onData);
    input.off('end', onEnd);
    input.pause();
    output.off('resize', onResize);
    for (const [event, listener] of listeners) program.off(event, listener);
  }

  input.on('data', onData);
  input.on('end', onEnd);
  output.on('resize', onResize);
  for (const [event, listener] of listeners) program.on(event, listener);
  enter();
  input.resume();
  return {
    suspend() {
      leave();
      program.kill(program.pid, 'SIGTSTP');
    },
    async lend(use) {
      isLent = true;
      forgetEscape();
      leave();
      input.off('data', onData);
      input.pause();
      try {
        return await use();
      } finally {
        isLent = false;
        input.on('data', onData);
        input.resume();
        continueSession();
      }
    },
    close,
  };
}
