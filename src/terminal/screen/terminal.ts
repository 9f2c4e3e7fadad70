import type { Key } from '../keys/key.ts';
import { KeyDecoder } from '../keys/key-decoder.ts';
import type { Timer } from './timer.ts';

/** Where keys come from; Node's stdin is one. */
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

/** The process, as far as it can stop, go on and end; Node's own is one. */
export interface Program {
  readonly pid: number;
  on(event: Signal | 'exit', listener: () => void): unknown;
  off(event: Signal | 'exit', listener: () => void): unknown;
  listenerCount(event: Signal): number;
  kill(pid: number, signal: string): unknown;
}

export interface TerminalOptions {
  readonly input: TerminalInput;
  readonly output: TerminalOutput;
  readonly program: Program;
  readonly timer: Timer;
  readonly onKey: (key: Key) => void;
  readonly onResize: () => void;
  /** There will be no more keys: the terminal is gone. */
  readonly onEnd: () => void;
  /** The terminal is about to be given back, whatever the reason: the moment to take the live area away. */
  readonly onLeave: () => void;
  /** The terminal is ours again after the process was stopped. */
  readonly onContinue: () => void;
}

export interface Terminal {
  /** Gives the terminal back and stops the process, as ctrl-z does; `onContinue` follows when it goes on. */
  suspend(): void;
  /** Gives the terminal back as it was. */
  close(): void;
}

/** How long an escape character waits for the rest of its sequence before it is the Escape key. */
const ESCAPE_MS = 50;

/** Bracketed paste, and keys told apart that otherwise send the same: shift-enter from enter. */
const ENTER = '\u001b[?2004h\u001b[>4;1m\u001b[>1u';
const LEAVE = '\u001b[<u\u001b[>4m\u001b[?2004l\u001b[?2026l\u001b[?7h\u001b[?25h\u001b[m';

/** Takes the keyboard of a terminal, and gives it back however the process ends. */
export function openTerminal(options: TerminalOptions): Terminal {
  const { input, output, program, timer, onKey, onResize, onEnd, onLeave, onContinue } = options;
  const decoder = new KeyDecoder();
  let forgetEscape = (): void => {};
  let isOurs = false;

  const onData = (bytes: Buffer): void => {
    forgetEscape();
    decoder.push(bytes).forEach(onKey);
    if (decoder.isWaiting) forgetEscape = timer.after(ESCAPE_MS, () => decoder.flush().forEach(onKey));
  };
  const enter = (): void => {
    isOurs = true;
    // Node believes that the mode is still what it set before the process was stopped: said twice, it takes.
    input.setRawMode?.(false);
    input.setRawMode?.(true);
    output.write(ENTER);
  };
  const leave = (): void => {
    if (!isOurs) return;
    isOurs = false;
    onLeave();
    output.write(LEAVE);
    input.setRawMode?.(false);
  };
  const goOn = (): void => {
    enter();
    onContinue();
  };
  const ended = (signal: Signal) => (): void => {
    leave();
    // With no other listener the signal means the end, as it would without us.
    if (program.listenerCount(signal) > 1) return;
    close();
    program.kill(program.pid, signal);
  };
  const listeners = [
    ['exit', leave],
    ['SIGCONT', goOn],
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
    close,
  };
}
