import { constants } from 'node:os';
import { closeSync } from 'node:fs';
import { shape } from '../base/index.ts';
import { attempt } from './attempt.ts';
import { counted, oneLine, sized } from './text/shorten.ts';
import type { CommandLine } from './process/command-group.ts';
import { programOnPath } from './process/on-path.ts';
import type { FullOutput } from './process/output-capture.ts';
import type { OutputWindow } from './process/output-window.ts';
import type { Printed } from './printed.ts';
import { type Command, type CommandEnd, runCommand } from './process/run-command.ts';
import { defineTool, type Tool, type ToolOutput, type ToolSurroundings } from './tool.ts';

const DEFAULT_SECONDS = 120;
const MOST_SECONDS = 3_600;

const required = {
  command: shape.described(
    shape.text('a command without zero characters', (command) => !command.includes('\0')),
    'What bash shall run. It starts in the working directory; a cd holds for this command only.',
  ),
};
const optional = {
  timeout: shape.described(
    shape.ruled(shape.count(1), (seconds) =>
      seconds > MOST_SECONDS ? `is in seconds, ${MOST_SECONDS} at most` : undefined,
    ),
    `In seconds, ${DEFAULT_SECONDS} if not given, ${MOST_SECONDS} at most. The command is ended when it is over.`,
  ),
};
/** A program that calls in a model's place may want the two outputs apart, and not know their order. Models are not told. */
const input = shape.fields(required, { ...optional, apart: shape.flag });
type Input = shape.ValueOf<typeof input>;

const tool = defineTool({
  name: 'bash',
  description:
    'Runs a command with bash and returns what it printed, stdout and stderr together. There is no input and no terminal: use options that ask nothing. When the command ends, every process it left in the background is ended too, so start a server and use it in the same command. Of long output the beginning and the end are returned, and a file is named that holds all. For files prefer read, grep, find, ls and edit.',
  input,
  parallel: false,
  access: ({ command }, cwd) => [{ type: 'command', command, cwd }],
  title: ({ command }) => oneLine(command),
  run: (wanted, around, signal) => attempt('bash', signal, () => runShell(wanted, around, signal)),
});

export const bash: Tool = { ...tool, parameters: shape.fields(required, optional).schema };

async function runShell(
  { command, timeout = DEFAULT_SECONDS, apart = false }: Input,
  around: ToolSurroundings,
  signal: AbortSignal,
): Promise<ToolOutput> {
  const {
    cwd,
    env,
    scratch,
    sandbox,
    approved = false,
    neutral,
    isolation,
    limiter,
    record,
    update,
  } = around;
  const shell = (await programOnPath('bash', env)) ?? '/bin/sh';
  const isApart = sandbox !== undefined || (await isolation?.state())?.state === 'on';
  const limits = await limiter?.prepare(isApart);
  const limited = (line: CommandLine): CommandLine => limits?.inner(line) ?? line;
  const title = oneLine(command, 80);
  const run = async (line: CommandLine, more: Pick<Command, 'env' | 'descriptors' | 'wrapper'>) => {
    const [program, args] = limits?.outer(line) ?? line;
    const whole: Command = {
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
    const end = await runCommand(whole, signal).catch(async (thrown: unknown) => {
      await limits?.finish({ exitCode: null, output: '' });
      throw thrown;
    });
    const met = await limits?.finish({ exitCode: end.exitCode, output: end.output.end(LOOKED_AT) });
    return { end, met: met ?? [] };
  };
  if (sandbox === undefined) {
    // A sandbox is a stricter boundary by itself.
    const unapproved = await neutral?.({ env, scratch });
    try {
      const [program, args] = limited(
        unapproved === undefined ? [shell, ['-c', command]] : [unapproved.program, unapproved.args(command)],
      );
      const wrapped = await isolation?.wrap(program, args, cwd);
      const wrapper = wrapped && commandLine(wrapped);
      const { end, met } = await run(wrapped ?? [program, args], { env: unapproved?.env ?? env, wrapper });
      return outputOf(title, end, timeout, met);
    } finally {
      await unapproved?.close();
    }
  }
  const [program, args] = limited([shell, ['-c', command]]);
  const prepared = await sandbox.prepare({ program, args, cwd, env, text: command, approved, scratch });
  try {
    const line = [prepared.program, prepared.args] as const;
    const { end, met } = await run(line, { ...prepared, wrapper: commandLine(line) });
    return outputOf(title, end, timeout, met, await prepared.finish(textOf(end.output)));
  } finally {
    for (const descriptor of prepared.descriptors) closeSync(descriptor);
  }
}

/** As the system shows it. */
function commandLine([program, args]: CommandLine): string {
  return [program, ...args].join(' ').trim();
}

function outputOf(
  title: string,
  end: CommandEnd,
  timeout: number,
  limitsMet: readonly string[] = [],
  remarks: readonly string[] = [],
): ToolOutput {
  const all = textOf(end.output);
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
      ...printedIn(printed, all),
      ...(end.apart && { stdout: textOf(end.apart.stdout), stderr: textOf(end.apart.stderr) }),
      ...(end.fullOutput === undefined ? {} : { outputFile: end.fullOutput.path }),
      ...(end.processes.ended.length === 0 ? {} : { endedProcesses: end.processes.ended }),
      ...(end.processes.survivors.length === 0 ? {} : { survivors: end.processes.survivors }),
    },
  };
}

function textOf(window: OutputWindow): string {
  const mark = (missing: number): string => `[… ${sized(missing)} left out here …]`;
  // Not every provider takes zero characters.
  return window.text(mark).replaceAll('\0', '\ufffd');
}

/** Where in the text for the model the command's own words are. */
function printedIn(printed: string, all: string): Printed {
  return { printedLength: printed.length, trimmed: all.slice(printed.length) };
}

/** Undefined for success. */
function outcomeText(
  { by, exitCode, signal, durationMs, wrapper }: CommandEnd,
  timeout: number,
): string | undefined {
  if (by === 'cancel') return `cancelled after ${seconds(durationMs)}; all its processes were ended`;
  if (by === 'timeout')
    return `not done after ${counted(timeout, 'second')}, so all its processes were ended; give a longer timeout if it needs more`;
  if (exitCode === 0) return undefined;
  const [name] =
    Object.entries(constants.signals).find(([, number]) => number === (exitCode ?? 0) - 128) ?? [];
  if (wrapper !== undefined && name !== undefined) return `exit code ${exitCode} (${name})`;
  return exitCode === null ? `ended by ${signal ?? 'a signal'}` : `exit code ${exitCode}`;
}

function fullOutputNote(total: number, { path, bytes, incomplete }: FullOutput): string {
  const but = incomplete === undefined ? '' : `, the first ${sized(bytes)} of it: ${incomplete}`;
  return `[all ${sized(total)} of output are in ${path}${but}; use grep or read on it]`;
}

function processNotes({ by, processes: { ended, survivors } }: CommandEnd): readonly string[] {
  const left = by === 'itself' && ended.length > 0;
  return [
    ...(left ? [`[left in the background and ended: ${ended.slice(0, MOST_NAMED).join('; ')}]`] : []),
    ...(survivors.length === 0
      ? []
      : [`[these processes could not be ended: ${survivors.slice(0, MOST_NAMED).join('; ')}]`]),
  ];
}

function seconds(durationMs: number): string {
  return `${(durationMs / 1_000).toFixed(1)} s`;
}

const MOST_NAMED = 5;
/** The end of the output, where programs say what they lacked. */
const LOOKED_AT = 4 * 1024;
