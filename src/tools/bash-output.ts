import { asPolypodError, messageOf, PolypodError, shape } from '../base/index.ts';
import { attempt } from './attempt.ts';
import {
  ENDED_COMMANDS,
  matchingLines,
  type OutputPage,
  readLastLines,
  readMatches,
  readPage,
} from './bash/background-output.ts';
import { formatSeconds } from './bash/shell-end.ts';
import { requireBackground } from './bash/start-in-background.ts';
import type { BackgroundCommand } from './process/background-commands.ts';
import { LineMatcher } from './search/line-matcher.ts';
import { formatBytes, formatCount } from './text/shorten.ts';
import { defineTool, type ToolContext, type ToolOutput, textOutput } from './tool.ts';

const MAX_WAIT_SECONDS = 600;
const MAX_LINES = 2_000;

const input = shape.fields(
  {},
  {
    id: shape.withDescription(
      shape.text('the id of a command'),
      'The id that bash returned. Without it, all background commands of the session are listed.',
    ),
    wait: shape.withDescription(
      shape.refined(shape.integerFrom(0), (seconds) =>
        seconds > MAX_WAIT_SECONDS ? `is in seconds, ${MAX_WAIT_SECONDS} at most` : undefined,
      ),
      `How many seconds to wait for output (with filter: for a line that matches) or for the end of the command; default 0, at most ${MAX_WAIT_SECONDS}.`,
    ),
    lines: shape.withDescription(
      shape.refined(shape.integerFrom(1), (lines) =>
        lines > MAX_LINES ? `is ${MAX_LINES} at most` : undefined,
      ),
      'Return the last lines of all output, instead of the output since the last call.',
    ),
    filter: shape.withDescription(
      shape.text('a regular expression'),
      'A regular expression: only lines that match are returned; the others count as read.',
    ),
  },
);
type Input = shape.ValueOf<typeof input>;

/** Touches only what the session itself has started, so it needs no approval. */
export const bashOutput = defineTool({
  name: 'bash_output',
  description:
    'Reads what a background command has written since the last call, and whether it still runs. To wait for something, set wait instead of calling it again and again.',
  input,
  parallel: false,
  access: () => [],
  title: ({ id }) => (id === undefined ? 'list background commands' : `output of ${id}`),
  run: (given, context, signal) =>
    attempt('bash_output', signal, async () => {
      const { commands } = requireBackground(context);
      return given.id === undefined
        ? listOutput(commands.all())
        : readOutput(commands.get(given.id), given, context, signal);
    }),
});

async function readOutput(
  command: BackgroundCommand,
  { wait = 0, lines, filter }: Input,
  { update }: Pick<ToolContext, 'update'>,
  signal: AbortSignal,
): Promise<ToolOutput> {
  const matcher = filter === undefined ? undefined : createMatcher(filter);
  const deadline = performance.now() + wait * 1_000;
  try {
    for (;;) {
      // Before the output is read: what is written until the end must not be missed.
      const { end, written } = command;
      const hasNew = written > command.position;
      const remainingMs = deadline - performance.now();
      const isDue = end !== undefined || remainingMs <= 0;
      if (isDue || hasNew) {
        const page = await readNext(command, lines, matcher, signal);
        if (isDue || page.text !== '') return toOutput(command, page, end !== undefined);
      }
      update(`waiting for ${command.id}`);
      await command.changed(written, remainingMs, signal);
      signal.throwIfAborted();
    }
  } finally {
    await matcher?.close();
  }
}

async function readNext(
  command: BackgroundCommand,
  lines: number | undefined,
  matcher: LineMatcher | undefined,
  signal: AbortSignal,
): Promise<OutputPage> {
  if (lines === undefined)
    return matcher === undefined ? readPage(command) : readMatches(command, matcher, signal);
  const page = await readLastLines(command, lines);
  return matcher === undefined
    ? page
    : { ...page, text: (await matchingLines(page.text, matcher, signal)).join('\n') };
}

function createMatcher(filter: string): LineMatcher {
  try {
    return new LineMatcher({ pattern: filter, literal: false, ignoreCase: false });
  } catch (thrown) {
    if (asPolypodError(thrown).code !== 'bad-request') throw thrown;
    const message = `The filter is not a valid regular expression: ${messageOf(thrown)}`;
    throw new PolypodError('bad-request', message, { cause: thrown });
  }
}

function toOutput(command: BackgroundCommand, page: OutputPage, isOver: boolean): ToolOutput {
  const { id, end, output } = command;
  const state = `${id}: ${stateText(command, isOver)}`;
  // A command that ended while its output was read is reported as running once more.
  const isReported = isOver && end !== undefined && page.unread === 0;
  const text = [
    ...(page.lost === 0 ? [] : [`[… ${formatBytes(page.lost)} omitted here …]`]),
    page.text.trimEnd() || '(no new output)',
    ...(page.unread === 0
      ? []
      : [
          `[${formatBytes(page.unread)} more: call again, or set lines to read the end${output?.file === undefined ? '' : `; all of it is in ${output.file}`}]`,
        ]),
    `[${state}]`,
    ...(isReported ? end.notes : []),
  ].join('\n');
  return textOutput(state, text, {
    background: id,
    ...(isReported && { [ENDED_COMMANDS]: [id] }),
    ...(output?.file !== undefined && { outputFile: output.file }),
  });
}

function listOutput(commands: readonly BackgroundCommand[]): ToolOutput {
  const rows = commands.map((command) => {
    const { id, output } = command;
    const file = output?.file === undefined ? '' : ` (output: ${output.file})`;
    return `${id}  ${stateText(command, true)}  ${command.command}${file}`;
  });
  const running = commands.filter(({ end }) => end === undefined).length;
  return textOutput(
    `${formatCount(running, 'background command')} running`,
    rows.length === 0 ? 'There are no background commands.' : rows.join('\n'),
    { [ENDED_COMMANDS]: commands.flatMap(({ id, end }) => (end === undefined ? [] : [id])) },
  );
}

/** The time is part of it: otherwise a repeated call with the same result would count as a loop. */
function stateText({ end, startedAt }: BackgroundCommand, isOver: boolean): string {
  return isOver && end !== undefined ? end.message : `running for ${formatSeconds(Date.now() - startedAt)}`;
}
