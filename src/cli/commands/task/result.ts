import { arrayOf, type JsonObject, objectOf, stringOf } from '../../../base/index.ts';
import type { TaskStatus } from '../../../client/index.ts';
import { EXIT, type ExitCode, type CommandContext } from '../../command.ts';
import {
  brush,
  colourDiff,
  wantsColour,
  sanitizeLine,
  sanitizeText,
  withoutColours,
} from '../../../terminal/index.ts';

const DIFF_LINES = 60;

/** Prints the result of a task: text and command output on stdout, everything else on stderr. */
export function showResult(
  status: TaskStatus,
  context: CommandContext,
  { withText }: { readonly withText: boolean },
): void {
  const { stdout, stderr } = context;
  if (status.status === 'failed') {
    stderr.write(`polypod task: ${failureText(status)}\n`);
    return;
  }
  const { result = {} } = status;
  if (typeof result.stdout === 'string') showCommand(result, context);
  else if (typeof result.text !== 'string') stdout.write(`${JSON.stringify(result, null, 2)}\n`);
  else if (withText) stdout.write(ended(shownOn(stdout, result.text)));
  const paint = brush(wantsColour(stderr, context.env));
  for (const { path, tool, diff } of arrayOf(result.changes).map(objectOf)) {
    stderr.write(`${paint.green('✓')} ${sanitizeLine(stringOf(path))} (${sanitizeLine(stringOf(tool))})\n`);
    if (typeof diff === 'string') stderr.write(`${colourDiff(diff, paint, DIFF_LINES)}\n`);
  }
}

/** A failed command means a failed task, even if the agent reports success. */
export function exitCodeOf({ status, result = {} }: TaskStatus): ExitCode {
  if (status === 'failed') return EXIT.failed;
  const isCommand = Object.hasOwn(result, 'exitCode');
  return isCommand && result.exitCode !== 0 ? EXIT.failed : EXIT.ok;
}

function showCommand({ stdout, stderr, exitCode }: JsonObject, context: CommandContext): void {
  context.stdout.write(shownOn(context.stdout, stringOf(stdout)));
  context.stderr.write(shownOn(context.stderr, stringOf(stderr)));
  if (exitCode === 0) return;
  const how =
    typeof exitCode === 'number' ? `ended with code ${exitCode}` : 'did not run, or a signal ended it';
  context.stderr.write(`polypod task: the command ${how}\n`);
}

/** Most servers report no more than the state. */
function failureText({ state = '', errorMessage = '' }: TaskStatus): string {
  const what = FAILURES[state] ?? 'the task failed';
  const why = sanitizeLine(errorMessage);
  if (why === '') return what;
  return why.startsWith(what) ? why : `${what}: ${why}`;
}

/** A pipe receives the text unchanged; on a terminal, control characters are removed. */
function shownOn(stream: { readonly isTTY?: boolean }, text: string): string {
  return stream.isTTY === true ? sanitizeText(withoutColours(text)) : text;
}

function ended(text: string): string {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`;
}

const FAILURES: Readonly<Record<string, string>> = {
  cancelled: 'the task was cancelled',
  denied: 'the command was denied',
  interrupted: 'the task was interrupted',
  limited: 'the task was stopped',
};
