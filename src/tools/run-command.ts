import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { closeSync } from 'node:fs';
import { messageOf, PolypodError, systemCodeOf } from '../base/index.ts';
import { type FullOutput, OutputCapture } from './output-capture.ts';
import type { OutputWindow } from './output-window.ts';
import { openPipe, type Pipe } from './pipe.ts';
import { type EndedProcesses, ProcessTree } from './process-tree.ts';
import { within } from './within.ts';

export interface Command {
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** A directory of ours for an output that does not fit into the window. */
  readonly scratch: string;
  readonly timeoutMs: number;
  readonly update: (text: string) => void;
}

export interface CommandEnd {
  /** Whether it ended by itself, or what made us end it. */
  readonly by: 'itself' | 'timeout' | 'cancel';
  /** Null when a signal ended it. */
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly durationMs: number;
  readonly output: OutputWindow;
  /** Set when the output did not fit into the window. */
  readonly fullOutput: FullOutput | undefined;
  /** The processes that were still there. */
  readonly processes: EndedProcesses;
}

/**
 * Runs a program with closed input and its outputs merged, and ends with it all that it has started: when it ends by
 * itself, when its time is over, and on a cancel. Rejects when the program cannot be started.
 */
export async function runCommand(command: Command, signal: AbortSignal): Promise<CommandEnd> {
  const pipe = await openPipe(command.scratch);
  const capture = new OutputCapture(pipe.read, { directory: command.scratch, update: command.update });
  try {
    const end = await supervise(command, pipe, capture, signal);
    return { ...end, output: capture.window, fullOutput: await capture.stop() };
  } finally {
    await capture.stop();
  }
}

async function supervise(
  command: Command,
  pipe: Pipe,
  capture: OutputCapture,
  signal: AbortSignal,
): Promise<Omit<CommandEnd, 'output' | 'fullOutput'>> {
  const mark = randomUUID();
  const startedAt = performance.now();
  const { child, pid } = await start(command, mark, pipe, signal);
  const exited = once(child, 'exit');
  const tree = new ProcessTree({ root: pid, environment: mark, pipe: pipe.name });
  const by = await firstOf(exited, command.timeoutMs, signal);
  const durationMs = Math.round(performance.now() - startedAt);
  // What the command left in the background gets a moment: a `tee` at its end still has lines to write.
  if (by === 'itself') await within(capture.ended, PATIENCE_MS);
  const processes = await tree.end(by === 'itself' ? PATIENCE_MS : 0);
  await within(Promise.all([exited, capture.ended]), DRAIN_MS);
  return { by, exitCode: child.exitCode, signal: child.signalCode, durationMs, processes };
}

async function start(
  { program, args, cwd, env }: Command,
  mark: string,
  pipe: Pipe,
  signal: AbortSignal,
): Promise<{ readonly child: ChildProcess; readonly pid: number }> {
  try {
    signal.throwIfAborted();
    const child = spawn(program, args, {
      cwd,
      env: { ...env, [MARK]: [env[MARK], mark].filter(Boolean).join(',') },
      // A group and a session of its own: signals for us do not reach it, and there is no terminal to ask at.
      detached: true,
      stdio: ['ignore', pipe.write, pipe.write],
    });
    if (child.pid !== undefined) return { child, pid: child.pid };
    const [thrown] = await once(child, 'error');
    throw notStarted(thrown, cwd);
  } finally {
    closeSync(pipe.write);
  }
}

function notStarted(thrown: unknown, cwd: string): PolypodError {
  const why =
    systemCodeOf(thrown) === 'E2BIG'
      ? 'it is too long. Write it to a file with write, and run that'
      : `${messageOf(thrown)}. Check that ${cwd} is there`;
  return new PolypodError('tool-failed', `The command could not be started: ${why}.`, { cause: thrown });
}

async function firstOf(
  exited: Promise<unknown>,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<CommandEnd['by']> {
  return await new Promise((settle) => {
    const end = (by: CommandEnd['by']): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', cancel);
      settle(by);
    };
    const timer = setTimeout(end, timeoutMs, 'timeout');
    const cancel = (): void => end('cancel');
    signal.addEventListener('abort', cancel);
    if (signal.aborted) cancel();
    void exited.then(() => end('itself'));
  });
}

/** Tells the processes of a call from all others; calls of a Polypod that runs inside a call add theirs. */
const MARK = 'POLYPOD_CALL';
const PATIENCE_MS = 200;
/** For what is left in the pipe. It only runs out when a process could not be ended. */
const DRAIN_MS = 1_000;
