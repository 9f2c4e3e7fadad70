import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import {
  agentCommands,
  CALL_MARK,
  explainStartFailure,
  PolypodError,
  systemCodeOf,
  settlesWithin,
} from '../../base/index.ts';
import type { CommandEntry, CommandRecord } from './command-ledger.ts';
import { type FullOutput, OutputCapture } from './output-capture.ts';
import type { OutputWindow } from './output-window.ts';
import { openOutputs, type Outputs } from './outputs.ts';
import { processOf } from './process-list.ts';
import { type EndedProcesses, ProcessTree } from './process-tree.ts';

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
  /** Open files for the program, from descriptor 3 on. */
  readonly descriptors?: readonly number[];
  /** The command line of what we put around the command, if anything: then only its exit code tells how that ended. */
  readonly wrapper: string | undefined;
  /** Records that the command runs, for whoever has to end it if this process cannot. */
  readonly record: ((entry: Pick<CommandRecord, 'mark' | 'pipes'>) => CommandEntry) | undefined;
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
  readonly wrapper: string | undefined;
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
  const { child, exited, tree, mark, entry } = await start(command, outputs, signal);
  const by = await firstOf(exited, command.timeoutMs, signal).catch((thrown: unknown) => {
    // It could not be started, so no process is left.
    forget(mark, entry);
    throw thrown;
  });
  const durationMs = Math.round(performance.now() - startedAt);
  // What the command left in the background gets a moment: a `tee` at its end still has lines to write.
  if (by === 'itself') await settlesWithin(capture.ended, PATIENCE_MS);
  const processes = await tree.end(by === 'itself' ? PATIENCE_MS : 0);
  // What could not be ended stays recorded: it may still connect to us, and the next process tries again.
  if (processes.survivors.length === 0) forget(mark, entry);
  await settlesWithin(Promise.all([exited, capture.ended]), DRAIN_MS);
  return {
    by,
    exitCode: child.exitCode,
    signal: child.signalCode,
    durationMs,
    processes,
    wrapper: command.wrapper,
  };
}

interface Started {
  readonly child: ChildProcess;
  /** Rejects when it could not be started. */
  readonly exited: Promise<unknown>;
  readonly tree: ProcessTree;
  readonly mark: string;
  readonly entry: CommandEntry | undefined;
}

async function start(command: Command, outputs: Outputs, signal: AbortSignal): Promise<Started> {
  try {
    signal.throwIfAborted();
    return spawnMarked(command, outputs);
  } catch (thrown) {
    throw signal.aborted ? thrown : notStarted(thrown, command);
  } finally {
    for (const pipe of outputs.pipes) await pipe.write.close();
  }
}

/** Does not wait for anything: the end of the process must not be missed. */
function spawnMarked(command: Command, { stdout, stderr, pipes }: Outputs): Started {
  const { program, args, cwd, env, wrapper, record } = command;
  const mark = randomUUID();
  const names = pipes.map(({ name }) => name);
  const entry = record?.({ mark, pipes: names });
  const child = spawn(program, args, {
    cwd,
    env: { ...env, [CALL_MARK]: [env[CALL_MARK], mark].filter(Boolean).join(',') },
    // A group and a session of its own: signals for us do not reach it, and there is no terminal to ask at.
    detached: true,
    stdio: ['ignore', stdout.write.fd, stderr.write.fd, ...(command.descriptors ?? [])],
  });
  const exited = once(child, 'exit').catch((thrown: unknown) => {
    throw notStarted(thrown, command);
  });
  // It is awaited a little later.
  exited.catch(() => {});
  // What could not be started has no pid; nobody asks for its tree.
  const root = child.pid ?? -1;
  const others = [process.pid, ...pipes.map(({ relay }) => relay)];
  const tree = new ProcessTree({ root, environment: mark, pipes: names, others, wrapper });
  if (child.pid !== undefined) {
    entry?.started({ pid: root, start: processOf(root)?.start ?? 0 });
    agentCommands.add({ mark, root });
    if (live.size === 0) process.on('exit', endAllNow);
    live.set(mark, tree);
  }
  return { child, exited, tree, mark, entry };
}

function forget(mark: string, entry: CommandEntry | undefined): void {
  entry?.close();
  agentCommands.remove(mark);
  live.delete(mark);
  if (live.size === 0) process.off('exit', endAllNow);
}

/** The commands whose processes may be left: none of them outlives this process, unless it is killed. */
const live = new Map<string, ProcessTree>();

function endAllNow(): void {
  for (const tree of live.values()) tree.endNow();
}

function notStarted(thrown: unknown, command: Command): PolypodError {
  const { problem, step } =
    systemCodeOf(thrown) === 'E2BIG'
      ? { problem: 'it is too long', step: 'Write it to a file with write, and run that' }
      : explainStartFailure(command, thrown);
  const why = `${problem}. ${step[0]?.toUpperCase()}${step.slice(1)}`;
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

const PATIENCE_MS = 200;
/** For what is left in the pipe. It only runs out when a process could not be ended. */
const DRAIN_MS = 1_000;
