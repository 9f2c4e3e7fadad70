import { PolypodError } from '../../base/index.ts';
import type {
  BackgroundCommand,
  BackgroundEnd,
  BackgroundLimits,
  EndReason,
} from '../process/background-commands.ts';
import { formatBytes, formatCount, oneLine } from '../text/shorten.ts';
import type { ToolContext, ToolOutput } from '../tool.ts';
import { ENDED_COMMANDS, type OutputPage, readPage } from './background-output.ts';
import { runShell, type ShellEnd } from './run-shell.ts';
import { formatSeconds, outcomeText, processNotes } from './shell-end.ts';

/** Starts a command that runs on after its call. `foregroundSeconds` is how long a command may run in a call. */
export async function startInBackground(
  { command, timeout }: { readonly command: string; readonly timeout?: number },
  foregroundSeconds: number,
  context: ToolContext,
  signal: AbortSignal,
): Promise<ToolOutput> {
  const { callId } = context;
  const session = requireBackground(context);
  const limit = longestRun(context, session.limits, foregroundSeconds);
  const seconds = Math.min(timeout ?? limit, limit);
  const started = await session.commands.start(
    { command, callId },
    session.limits,
    async ({ signal: stop, observe, update, reason }) =>
      backgroundEnd(
        await runShell(command, context, { timeoutMs: seconds * 1_000, apart: false, update, observe }, stop),
        seconds,
        reason(),
      ),
    signal,
  );
  // Before the output is read: what is written until the end must not be missed.
  const { end } = started;
  return startOutput(started, end, await readPage(started), seconds);
}

/** Returns the session's background commands. Throws `tool-failed` if it cannot have any. */
export function requireBackground({ background }: ToolContext): NonNullable<ToolContext['background']> {
  if (background !== undefined) return background;
  throw new PolypodError(
    'tool-failed',
    'Background commands are not available here: run it without background.',
  );
}

/**
 * In the sandbox, what a command without approval plants in the workspace is removed when it ends. It must not stay
 * there for longer than a command in the foreground could leave it.
 */
function longestRun(
  { sandbox, approved = false }: ToolContext,
  { seconds }: BackgroundLimits,
  foregroundSeconds: number,
): number {
  return sandbox === undefined || approved ? seconds : Math.min(seconds, foregroundSeconds);
}

/** The result of the call that started a command. */
function startOutput(
  { id, command }: BackgroundCommand,
  end: BackgroundEnd | undefined,
  { text, unread }: OutputPage,
  limit: number,
): ToolOutput {
  const title = oneLine(command, 80);
  const outcome =
    end === undefined
      ? `running in the background as ${id}`
      : `${end.message}, before this call returned; its id is ${id}`;
  const next =
    end === undefined
      ? `[${outcome}: read its output with bash_output, end it with bash_kill; it is ended after ${formatCount(limit, 'second')}]`
      : `[${outcome}]`;
  return {
    summary: `${title}: ${outcome}`,
    content: [
      {
        type: 'text',
        text: [
          text.trimEnd() || (end === undefined ? '(no output yet)' : '(no output)'),
          ...(unread === 0 ? [] : [`[${formatBytes(unread)} more: bash_output continues here]`]),
          next,
          ...(end?.notes ?? []),
        ].join('\n'),
      },
    ],
    isError: end !== undefined && end.status !== 'done',
    details: { background: id, ...(end && { [ENDED_COMMANDS]: [id] }) },
  };
}

/** How a command ended that ran in the background. */
function backgroundEnd(
  { end, limitsMet, remarks }: ShellEnd,
  limit: number,
  reason: EndReason,
): BackgroundEnd {
  const after = `after ${formatSeconds(end.durationMs)}`;
  const notes = [...limitsMet.map((met) => `[${met}]`), ...processNotes(end), ...remarks];
  if (end.by === 'cancel') return { status: 'ended', message: `ended ${reason} ${after}`, notes };
  if (end.by === 'timeout')
    return { status: 'ended', message: `ended after ${formatCount(limit, 'second')}, its limit`, notes };
  const outcome = outcomeText(end, limit);
  return outcome === undefined
    ? { status: 'done', message: `done in ${formatSeconds(end.durationMs)}`, notes }
    : { status: 'failed', message: `${outcome} ${after}`, notes };
}
