import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { messageOf, PolypodError, systemCodeOf } from '../base/index.ts';
import { type FullOutput, OutputCapture } from './output-capture.ts';
import type { OutputWindow } from './output-window.ts';
import { openOutputs, type Outputs } from './outputs.ts';
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
  /** Whether its outputs are kept apart as well. Then nobody knows in which order they were written. */
  readonly apart: boolean;
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
  /** Each output for itself, if that was wanted. */
  readonly apart: { readonly stdout: OutputWindow; readonly stderr: OutputWindow } | undefined;
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
  const outputs = await openOutputs(command);
  const capture = new OutputCapture(outputs.read, { directory: command.scratch, update: command.update });
  try {
    const end = await supervise(command, outputs, capture, signal);
    const fullOutput = await capture.stop();
    return { ...end, output: capture.window, apart: outputs.apart, fullOutput };
  } finally {
    for (const pipe of outputs.pipes) pipe.close();
    await capture.stop();
  }
}

async function supervise(
  command: Command,
  outputs: Outputs,
  capture: OutputCapture,
  signal: AbortSignal,
): Promise<Omit<CommandEnd, 'output' | 'apart' | 'fullOutput'>> {
  const startedAt = performance.now();
  const { child, exited, tree } = await start(command, outputs, signal);
  const by = await firstOf(exited, command.timeoutMs, signal);
  const durationMs = Math.round(performance.now() - startedAt);
  // What the command left in the background gets a moment: a `tee` at its end still has lines to write.
  if (by === 'itself') await within(capture.ended, PATIENCE_MS);
  const processes = await tree.end(by === 'itself' ? PATIENCE_MS : 0);
  await within(Promise.all([exited, capture.ended]), DRAIN_MS);
  return { by, exitCode: child.exitCode, signal: child.signalCode, durationMs, processes };
}

interface Started {
  readonly child: ChildProcess;
  /** Rejects when it could not be started. */
  readonly exited: Promise<unknown>;
  readonly tree: ProcessTree;
}

async function start(command: Command, outputs: Outputs, signal: AbortSignal): Promise<Started> {
  try {
    signal.throwIfAborted();
    return spawnMarked(command, outputs);
  } catch (thrown) {
    throw signal.aborted ? thrown : notStarted(thrown, command.cwd);
  } finally {
    for (const pipe of outputs.pipes) await pipe.write.close();
  }
}

/** Does not wait for anything: the end of the process must not be missed. */
function spawnMarked({ program, args, cwd, env }: Command, { stdout, stderr, pipes }: Outputs): Started {
  const mark = randomUUID();
  const child = spawn(program, args, {
    cwd,
    env: { ...env, [MARK]: [env[MARK], mark].filter(Boolean).join(',') },
    // A group and a session of its own: signals for us do not reach it, and there is no terminal to ask at.
    detached: true,
    stdio: ['ignore', stdout.write.fd, stderr.write.fd],
  });
  const exited = once(child, 'exit').catch((thrown: unknown) => {
    throw notStarted(thrown, cwd);
  });
  // It is awaited a little later.
  exited.catch(() => {});
  // What could not be started has no pid; nobody asks for its tree.
  const root = child.pid ?? -1;
  const others = [process.pid, ...pipes.map(({ relay }) => relay)];
  const names = pipes.map(({ name }) => name);
  return { child, exited, tree: new ProcessTree({ root, environment: mark, pipes: names, others }) };
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
  let timer: NodeJS.Timeout | undefined;
  let cancel = (): void => {};
  const stopped = new Promise<CommandEnd['by']>((settle) => {
    timer = setTimeout(settle, timeoutMs, 'timeout');
    cancel = () => settle('cancel');
    signal.addEventListener('abort', cancel);
    if (signal.aborted) cancel();
  });
  try {
    return await Promise.race([exited.then(() => 'itself' as const), stopped]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', cancel);
  }
}

/** Tells the processes of a call from all others; calls of a Polypod that runs inside a call add theirs. */
const MARK = 'POLYPOD_CALL';
const PATIENCE_MS = 200;
/** For what is left in the pipe. It only runs out when a process could not be ended. */
const DRAIN_MS = 1_000;
