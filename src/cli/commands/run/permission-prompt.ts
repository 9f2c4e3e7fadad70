import { createInterface } from 'node:readline/promises';
import { ReadStream } from 'node:tty';
import { onAbort } from '../../../base/index.ts';
import type { Approval, PodCommandOf } from '../../../pod/index.ts';
import { callDetails } from '../../output/call-details.ts';
import type { CommandContext } from '../../command.ts';
import { callName } from '../../output/call-name.ts';
import { brush, wantsColour, sanitizeLine } from '../../../terminal/index.ts';
import { numberText, QuestionNumbers } from '../../output/question-numbers.ts';
import { HEADLESS_RUN } from '../../hosting/headless-approvals.ts';

/** Resolves with the decision; undefined if the approval was settled elsewhere, withdrawn, or left to other clients. */
export type Ask = (
  approval: Approval,
  asking: PermissionPromptOptions,
) => Promise<PromptDecision | undefined>;

export interface PermissionPromptOptions {
  /** Aborts when the approval is settled or withdrawn. */
  readonly signal: AbortSignal;
  /** Whether no other client was seen on the pod. */
  readonly isAlone: boolean;
}

export interface PromptDecision extends Pick<PodCommandOf<'decide'>, 'decision' | 'comment' | 'remember'> {
  /** Who decided, if it was not the local user. */
  readonly by?: string;
}

export interface PromptDenial {
  /** Also deny what another client on the pod could decide. */
  readonly isForAll: boolean;
  readonly onDenied: () => void;
  /** Called when an approval is left to other clients. */
  readonly onLeft: (approval: Approval) => void;
}

/** Denies every approval, because no person can be asked. The model receives the denial. */
export function denyAll({ isForAll, onDenied, onLeft }: PromptDenial): Ask {
  return async (approval, { isAlone }) => {
    if (!isForAll && !isAlone) {
      onLeft(approval);
      return undefined;
    }
    onDenied();
    return {
      decision: 'deny',
      by: HEADLESS_RUN,
      comment: `${approval.reason} Nobody can be asked in this run: find another way, or say what you need.`,
    };
  };
}

/** Asks on the terminal, one approval at a time. */
export function askOnTerminal(context: CommandContext, makeRoom: () => void): Ask {
  let last: Promise<unknown> = Promise.resolve();
  const open = new Map<string, Approval>();
  const numbers = new QuestionNumbers();
  return (approval, { signal }) => {
    open.set(approval.approvalId, approval);
    numbers.add([...open.values()]);
    const answer = last
      .then(() => askOnce(approval, numberText(numbers.of(approval.approvalId)), context, makeRoom, signal))
      .finally(() => {
        open.delete(approval.approvalId);
        numbers.add([...open.values()]);
      });
    last = answer.catch(() => {});
    return answer;
  };
}

async function askOnce(
  approval: Approval,
  number: string,
  context: CommandContext,
  makeRoom: () => void,
  signal: AbortSignal,
): Promise<PromptDecision | undefined> {
  if (signal.aborted) return undefined;
  const { tool, title, reason, rule, podId, podName } = approval;
  const child = podId === undefined ? '' : ` (sub-agent: ${podName ?? podId})`;
  const paint = brush(wantsColour(context.stderr, context.env));
  makeRoom();
  // The model wrote this text: it is shown exactly as it would run.
  context.stderr.write(
    `\n${paint.bold(`${number}${sanitizeLine(tool)} wants to run:`)} ${sanitizeLine(`${title}${child}`)}\n${callDetails(approval)}  ${paint.dim(sanitizeLine(reason))}\n`,
  );
  const name = sanitizeLine(callName(approval));
  const confirm = (decision: PromptDecision): PromptDecision => {
    context.stderr.write(`${decision.decision === 'approve' ? 'approved' : 'denied'}: ${name}\n`);
    return decision;
  };
  await discardTyped(context.stdin, signal);
  const lines = createInterface({ input: context.stdin, output: context.stderr });
  // Ctrl-C is meant for the program, although readline owns the terminal.
  lines.on('SIGINT', () => process.kill(process.pid, 'SIGINT'));
  const forget = onAbort(signal, () => lines.close());
  try {
    const always = rule === undefined ? '' : ', [a]lways in this session, always in this [p]roject';
    for (;;) {
      const line = (await lines.question(`Allow it? [y]es, [n]o${always}: `, { signal }))
        .trim()
        .toLowerCase();
      if (line === 'y' || line === 'yes') return confirm({ decision: 'approve' });
      if (rule !== undefined && (line === 'a' || line === 'always'))
        return confirm({ decision: 'approve', remember: 'session' });
      if (rule !== undefined && (line === 'p' || line === 'project'))
        return confirm({ decision: 'approve', remember: 'always' });
      if (line === 'n' || line === 'no' || line === '') return confirm(await refusal(lines, signal));
    }
  } catch {
    // The input ended, or the approval was settled meanwhile.
    if (signal.aborted) context.stderr.write(`\ndecided elsewhere, or withdrawn: ${name}\n`);
    return signal.aborted
      ? undefined
      : {
          decision: 'deny',
          by: HEADLESS_RUN,
          comment: 'The input ended before the approval was answered.',
        };
  } finally {
    forget();
    lines.close();
  }
}

/** Discards what was typed before the question appeared, because it is not an answer to it. */
async function discardTyped(input: CommandContext['stdin'], signal: AbortSignal): Promise<void> {
  if (!(input instanceof ReadStream)) return;
  // Without raw mode, the terminal keeps an unfinished line, which would become part of the answer.
  input.setRawMode(true);
  await new Promise<void>((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      forget();
      input.off('data', onData).pause();
      resolve();
    };
    const timer = setTimeout(end, QUIET_MS);
    const onData = (typed: Buffer | string): void => {
      timer.refresh();
      // In raw mode, Ctrl-C arrives as a character.
      if (typed.toString().includes('\u0003')) process.kill(process.pid, 'SIGINT');
    };
    const forget = onAbort(signal, end);
    input.on('data', onData).resume();
  });
  input.setRawMode(false);
}

/** How long the terminal must be idle before an answer counts. */
const QUIET_MS = 300;

async function refusal(
  lines: ReturnType<typeof createInterface>,
  signal: AbortSignal,
): Promise<PromptDecision> {
  const why = (await lines.question('What should it do instead? (Enter for nothing) ', { signal })).trim();
  return why === '' ? { decision: 'deny' } : { decision: 'deny', comment: why };
}
