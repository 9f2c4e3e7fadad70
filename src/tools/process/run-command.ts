import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import {
  agentCommands,
  CALL_MARK_VARIABLE,
  explainStartFailure,
  PolypodError,
  systemCodeOf,
  settlesWithin,
} from '../../base/index.ts';
import type { CommandEntry, CommandRecord } from './command-ledger.ts';
import { type FullOutput, OutputCapture } from './output-capture.ts';
import type { OutputWindow } from './output-window.ts';
import { openOutputs, type Outputs } from './outputs.ts';
import { findProcess } from './process-list.ts';
import { type EndedProcesses, ProcessTree } from './process-tree.ts';

export interface CommandToRun {
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** A directory of ours for output that does not fit into the window. */
  readonly scratch: string;
  readonly timeoutMs: number;
  /** Whether its outputs are also returned separately. Their order is then unknown. */
  readonly apart: boolean;
  readonly update: (text: string) => void;
  /** Called when it has started; the output can be read at any time, also after the end. */
  readonly observe?: ((output: OutputCapture) => void) | undefined;
  /** Open files for the program, from descriptor 3 on. */
  readonly descriptors?: readonly number[];
  /**
   * The command line of the wrapper around the command, if any: then only its exit code shows how the command
   * ended.
   */
  readonly wrapper: string | undefined;
  /** Records that the command runs, for a process that has to end it if this one cannot. */
  readonly record: ((entry: Pick<CommandRecord, 'mark' | 'pipes'>) => CommandEntry) | undefined;
}

export interface CommandEnd {
  /** Whether it ended by itself, or why we ended it. */
  readonly by: 'itself' | 'timeout' | 'cancel';
  /** Null if a signal ended it. */
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly durationMs: number;
  readonly output: OutputWindow;
  /** Each output separately, if requested. */
  readonly apart: { readonly stdout: OutputWindow; readonly stderr: OutputWindow } | undefined;
  /** Set if the output did not fit into the window. */
  readonly fullOutput: FullOutput | undefined;
  /** The remaining processes. */
  readonly processes: EndedProcesses;
  readonly wrapper: string | undefined;
}

/**
 * Runs a program with closed input and merged outputs, and ends everything that it has started: when it ends,
 * when its time is over, or on cancel. Rejects if the program cannot be started.
 */
export async function runCommand(command: CommandToRun, signal: AbortSignal): Promise<CommandEnd> {
  const outputs = await openOutputs(command);
  const capture = new OutputCapture(outputs.read, {
    directory: command.scratch,
    update: command.update,
    keepsAll: command.observe !== undefined,
  });
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
  command: CommandToRun,
  outputs: Outputs,
  capture: OutputCapture,
  signal: AbortSignal,
): Promise<Omit<CommandEnd, 'output' | 'apart' | 'fullOutput'>> {
  const startedAt = performance.now();
  const { child, exited, tree, mark, entry } = await start(command, outputs, signal);
  command.observe?.(capture);
  const by = await waitForEnd(exited, command.timeoutMs, signal).catch((thrown: unknown) => {
    // It could not be started, so no process is left.
    release(mark, entry);
    throw thrown;
  });
  const durationMs = Math.round(performance.now() - startedAt);
  // Background processes get a moment: a final `tee` still has lines to write.
  if (by === 'itself') await settlesWithin(capture.ended, PATIENCE_MS);
  const processes = await tree.end(by === 'itself' ? PATIENCE_MS : 0);
  // Processes that could not be ended stay recorded: they may still connect to us, and the next process tries
  // again.
  if (processes.survivors.length === 0) release(mark, entry);
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
  /** Rejects if it could not be started. */
  readonly exited: Promise<unknown>;
  readonly tree: ProcessTree;
  readonly mark: string;
  readonly entry: CommandEntry | undefined;
}

async function start(command: CommandToRun, outputs: Outputs, signal: AbortSignal): Promise<Started> {
  try {
    signal.throwIfAborted();
    return spawnMarked(command, outputs);
  } catch (thrown) {
    throw signal.aborted ? thrown : startError(thrown, command);
  } finally {
    for (const pipe of outputs.pipes) await pipe.write.close();
  }
}

/** Synchronous, so that the end of the process is not missed. */
function spawnMarked(command: CommandToRun, { stdout, stderr, pipes }: Outputs): Started {
  const { program, args, cwd, env, wrapper, record } = command;
  const mark = randomUUID();
  const names = pipes.map(({ name }) => name);
  const entry = record?.({ mark, pipes: names });
  const child = spawn(program, args, {
    cwd,
    env: { ...env, [CALL_MARK_VARIABLE]: [env[CALL_MARK_VARIABLE], mark].filter(Boolean).join(',') },
    // Its own group and session: signals to us do not reach it, and it has no terminal to prompt on.
    detached: true,
    stdio: ['ignore', stdout.write.fd, stderr.write.fd, ...(command.descriptors ?? [])],
  });
  const exited = once(child, 'exit').catch((thrown: unknown) => {
    throw startError(thrown, command);
  });
  // Awaited later; must not count as unhandled until then.
  exited.catch(() => {});
  // A process that could not be started has no pid; its tree is never used.
  const root = child.pid ?? -1;
  const ownProcesses = [process.pid, ...pipes.map(({ relay }) => relay)];
  const tree = new ProcessTree({ root, environment: mark, pipes: names, others: ownProcesses, wrapper });
  if (child.pid !== undefined) {
    entry?.started({ pid: root, start: findProcess(root)?.start ?? 0 });
    agentCommands.add({ mark, root });
    if (live.size === 0) process.on('exit', endAllNow);
    live.set(mark, tree);
  }
  return { child, exited, tree, mark, entry };
}

function release(mark: string, entry: CommandEntry | undefined): void {
  entry?.close();
  agentCommands.remove(mark);
  live.delete(mark);
  if (live.size === 0) process.off('exit', endAllNow);
}

/** The commands whose processes may be left: they are ended when this process exits, unless it is killed. */
const live = new Map<string, ProcessTree>();

function endAllNow(): void {
  for (const tree of live.values()) tree.endNow();
}

function startError(thrown: unknown, command: CommandToRun): PolypodError {
  const { problem, step } =
    systemCodeOf(thrown) === 'E2BIG'
      ? { problem: 'it is too long', step: 'Write it to a file with write, and run that' }
      : explainStartFailure(command, thrown);
  const reason = `${problem}. ${step[0]?.toUpperCase()}${step.slice(1)}`;
  return new PolypodError('tool-failed', `The command could not be started: ${reason}.`, { cause: thrown });
}

async function waitForEnd(
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
/** For the rest in the pipe. It expires only if a process could not be ended. */
const DRAIN_MS = 1_000;
