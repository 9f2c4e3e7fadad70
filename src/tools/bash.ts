import { constants } from 'node:os';
import { closeSync } from 'node:fs';
import { shape } from '../base/index.ts';
import { attempt } from './attempt.ts';
import { formatCount, oneLine, formatBytes } from './text/shorten.ts';
import type { CommandLine } from './process/command-group.ts';
import { programOnPath } from './process/on-path.ts';
import type { FullOutput } from './process/output-capture.ts';
import type { OutputWindow } from './process/output-window.ts';
import type { PrintedOutput } from './printed-output.ts';
import { type CommandToRun, type CommandEnd, runCommand } from './process/run-command.ts';
import { defineTool, type Tool, type ToolOutput, type ToolContext } from './tool.ts';

const DEFAULT_SECONDS = 120;
const MAX_SECONDS = 3_600;

const required = {
  command: shape.withDescription(
    shape.text('a command without zero characters', (command) => !command.includes('\0')),
    'The command for bash. It starts in the working directory; a cd applies to this command only.',
  ),
};
const optional = {
  timeout: shape.withDescription(
    shape.refined(shape.integerFrom(1), (seconds) =>
      seconds > MAX_SECONDS ? `is in seconds, ${MAX_SECONDS} at most` : undefined,
    ),
    `In seconds; default ${DEFAULT_SECONDS}, at most ${MAX_SECONDS}. The command is ended when the time is over.`,
  ),
};
/**
 * A program that calls the tool directly may want the outputs separately, without their order. Not offered to
 * models.
 */
const input = shape.fields(required, { ...optional, apart: shape.boolean });
type Input = shape.ValueOf<typeof input>;

const tool = defineTool({
  name: 'bash',
  description:
    'Runs a command with bash and returns its output, stdout and stderr together. There is no input and no terminal: use non-interactive options. When the command ends, every process it left in the background is ended too, so start a server and use it in the same command. Of long output the beginning and the end are returned, with the name of a file that contains all of it. For files prefer read, grep, find, ls and edit.',
  input,
  parallel: false,
  access: ({ command }, cwd) => [{ type: 'command', command, cwd }],
  title: ({ command }) => oneLine(command),
  run: (input, context, signal) => attempt('bash', signal, () => runShell(input, context, signal)),
});

export const bash: Tool = { ...tool, parameters: shape.fields(required, optional).schema };

async function runShell(
  { command, timeout = DEFAULT_SECONDS, apart = false }: Input,
  context: ToolContext,
  signal: AbortSignal,
): Promise<ToolOutput> {
  const {
    cwd,
    env,
    scratch,
    sandbox,
    approved = false,
    prepareReadOnly,
    isolation,
    limiter,
    record,
    update,
  } = context;
  const shell = (await programOnPath('bash', env)) ?? '/bin/sh';
  const isApart = sandbox !== undefined || (await isolation?.state())?.state === 'on';
  const limits = await limiter?.prepare(isApart);
  const limited = (line: CommandLine): CommandLine => limits?.inner(line) ?? line;
  const title = oneLine(command, 80);
  const run = async (line: CommandLine, more: Pick<CommandToRun, 'env' | 'descriptors' | 'wrapper'>) => {
    const [program, args] = limits?.outer(line) ?? line;
    const fullCommand: CommandToRun = {
      ...more,
      program,
      args,
      cwd,
      scratch,
      timeoutMs: timeout * 1_000,
      apart,
      update,
      record: record && ((entry) => record({ ...entry, command: oneLine(command) })),
    };
    const end = await runCommand(fullCommand, signal).catch(async (thrown: unknown) => {
      await limits?.finish({ exitCode: null, output: '' });
      throw thrown;
    });
    const met = await limits?.finish({ exitCode: end.exitCode, output: end.output.end(LOOKED_AT) });
    return { end, met: met ?? [] };
  };
  if (sandbox === undefined) {
    // A sandbox is the stricter boundary.
    const unapproved = await prepareReadOnly?.({ env, scratch });
    try {
      const [program, args] = limited(
        unapproved === undefined ? [shell, ['-c', command]] : [unapproved.program, unapproved.args(command)],
      );
      const wrapped = await isolation?.wrap(program, args, cwd);
      const wrapper = wrapped && commandLine(wrapped);
      const { end, met } = await run(wrapped ?? [program, args], { env: unapproved?.env ?? env, wrapper });
      return toOutput(title, end, timeout, met);
    } finally {
      await unapproved?.close();
    }
  }
  const [program, args] = limited([shell, ['-c', command]]);
  const prepared = await sandbox.prepare({ program, args, cwd, env, text: command, approved, scratch });
  try {
    const line = [prepared.program, prepared.args] as const;
    const { end, met } = await run(line, { ...prepared, wrapper: commandLine(line) });
    return toOutput(title, end, timeout, met, await prepared.finish(windowText(end.output)));
  } finally {
    for (const descriptor of prepared.descriptors) closeSync(descriptor);
  }
}

/** As the system shows it. */
function commandLine([program, args]: CommandLine): string {
  return [program, ...args].join(' ').trim();
}

function toOutput(
  title: string,
  end: CommandEnd,
  timeout: number,
  limitsMet: readonly string[] = [],
  remarks: readonly string[] = [],
): ToolOutput {
  const all = windowText(end.output);
  const printed = all.trimEnd();
  const outcome = outcomeText(end, timeout);
  const notes = [
    ...(outcome === undefined ? [] : [`[${outcome}]`]),
    ...limitsMet.map((met) => `[${met}]`),
    ...(end.fullOutput === undefined ? [] : [fullOutputNote(end.output.total, end.fullOutput)]),
    ...processNotes(end),
    ...remarks,
  ];
  const text = [printed || '(no output)', ...notes].join('\n');
  return {
    summary: `${title}: ${outcome ?? `done in ${seconds(end.durationMs)}`}`,
    content: [{ type: 'text', text }],
    isError: outcome !== undefined,
    details: {
      exitCode: end.exitCode,
      signal: end.signal,
      endedBy: end.by,
      ...(limitsMet.length === 0 ? {} : { limitsMet }),
      durationMs: end.durationMs,
      outputBytes: end.output.total,
      outputLineEnds: end.output.lineEnds,
      ...findPrinted(printed, all),
      ...(end.apart && { stdout: windowText(end.apart.stdout), stderr: windowText(end.apart.stderr) }),
      ...(end.fullOutput === undefined ? {} : { outputFile: end.fullOutput.path }),
      ...(end.processes.ended.length === 0 ? {} : { endedProcesses: end.processes.ended }),
      ...(end.processes.survivors.length === 0 ? {} : { survivors: end.processes.survivors }),
    },
  };
}

function windowText(window: OutputWindow): string {
  const mark = (missing: number): string => `[… ${formatBytes(missing)} omitted here …]`;
  // Some providers reject NUL characters.
  return window.text(mark).replaceAll('\0', '\ufffd');
}

/** The position of the command's own output in the text for the model. */
function findPrinted(printed: string, all: string): PrintedOutput {
  return { printedLength: printed.length, trimmed: all.slice(printed.length) };
}

/** Returns undefined for success. */
function outcomeText(
  { by, exitCode, signal, durationMs, wrapper }: CommandEnd,
  timeout: number,
): string | undefined {
  if (by === 'cancel') return `cancelled after ${seconds(durationMs)}; all its processes were ended`;
  if (by === 'timeout')
    return `not done after ${formatCount(timeout, 'second')}, so all its processes were ended; give a longer timeout if it needs more`;
  if (exitCode === 0) return undefined;
  const [name] =
    Object.entries(constants.signals).find(([, number]) => number === (exitCode ?? 0) - 128) ?? [];
  if (wrapper !== undefined && name !== undefined) return `exit code ${exitCode} (${name})`;
  return exitCode === null ? `ended by ${signal ?? 'a signal'}` : `exit code ${exitCode}`;
}

function fullOutputNote(total: number, { path, bytes, incomplete }: FullOutput): string {
  const but = incomplete === undefined ? '' : `, the first ${formatBytes(bytes)} of it: ${incomplete}`;
  return `[all ${formatBytes(total)} of output are in ${path}${but}; use grep or read on it]`;
}

function processNotes({ by, processes: { ended, survivors } }: CommandEnd): readonly string[] {
  const hasLeftovers = by === 'itself' && ended.length > 0;
  return [
    ...(hasLeftovers ? [`[left in the background and ended: ${ended.slice(0, MAX_NAMED).join('; ')}]`] : []),
    ...(survivors.length === 0
      ? []
      : [`[these processes could not be ended: ${survivors.slice(0, MAX_NAMED).join('; ')}]`]),
  ];
}

function seconds(durationMs: number): string {
  return `${(durationMs / 1_000).toFixed(1)} s`;
}

const MAX_NAMED = 5;
/** The end of the output, where programs report missing resources. */
const LOOKED_AT = 4 * 1024;
