import { shape } from '../base/index.ts';
import { attempt } from './attempt.ts';
import { runInTerminal } from './bash/run-in-terminal.ts';
import { type ShellEnd, runShell, windowText } from './bash/run-shell.ts';
import { formatSeconds, outcomeText, processNotes } from './bash/shell-end.ts';
import { startInBackground } from './bash/start-in-background.ts';
import type { PrintedOutput } from './printed-output.ts';
import type { FullOutput } from './process/output-capture.ts';
import { formatBytes, oneLine } from './text/shorten.ts';
import { defineTool, type Tool, type ToolContext, type ToolOutput } from './tool.ts';

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
  background: shape.withDescription(
    shape.boolean,
    'Whether to return at once while the command runs on, such as a server or a watcher: bash_output reads its output, bash_kill ends it. Without a timeout it may then run for hours.',
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
    'Runs a command with bash and returns its output, stdout and stderr together. There is no input and no terminal: use non-interactive options. When the command ends, every process it left in the background is ended too: to keep a server running, start it with background set. Of long output the beginning and the end are returned, with the name of a file that contains all of it. For files prefer read, grep, find, ls and edit.',
  input,
  parallel: false,
  // The same in the background: whether a command may run depends on the command alone.
  access: ({ command }, cwd) => [{ type: 'command', command, cwd }],
  title: ({ command, background = false }) =>
    background ? `${oneLine(command, 100)} (background)` : oneLine(command),
  run: (given, context, signal) =>
    attempt('bash', signal, () =>
      given.background === true
        ? startInBackground(given, MAX_SECONDS, context, signal)
        : runInForeground(given, context, signal),
    ),
});

export const bash: Tool = { ...tool, parameters: shape.fields(required, optional).schema };

async function runInForeground(
  { command, timeout = DEFAULT_SECONDS, apart = false }: Input,
  context: ToolContext,
  signal: AbortSignal,
): Promise<ToolOutput> {
  const inTerminal = apart ? undefined : await runInTerminal({ command, timeout }, context, signal);
  if (inTerminal !== undefined) return inTerminal;
  const { update } = context;
  const ended = await runShell(command, context, { timeoutMs: timeout * 1_000, apart, update }, signal);
  return toOutput(oneLine(command, 80), ended, timeout);
}

function toOutput(title: string, { end, limitsMet, remarks }: ShellEnd, timeout: number): ToolOutput {
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
    summary: `${title}: ${outcome ?? `done in ${formatSeconds(end.durationMs)}`}`,
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

/** The position of the command's own output in the text for the model. */
function findPrinted(printed: string, all: string): PrintedOutput {
  return { printedLength: printed.length, trimmed: all.slice(printed.length) };
}

function fullOutputNote(total: number, { path, bytes, incomplete }: FullOutput): string {
  const but = incomplete === undefined ? '' : `, the first ${formatBytes(bytes)} of it: ${incomplete}`;
  return `[all ${formatBytes(total)} of output are in ${path}${but}; use grep or read on it]`;
}
