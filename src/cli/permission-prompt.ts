import { createInterface } from 'node:readline/promises';
import { onAbort } from '../base/index.ts';
import type { Approval, CommandOf } from '../pod/index.ts';
import { beyondTitle } from './beyond-title.ts';
import type { Surroundings } from './command.ts';
import { brush, wantsColour } from './paint.ts';
import { harmless } from './terminal/harmless.ts';
import { RUN_WITHOUT_PERSON } from './without-person.ts';

/** What was decided; undefined when the question was settled by somebody else, was taken back, or is left to others. */
export type Ask = (approval: Approval, asking: Asking) => Promise<Decision | undefined>;

export interface Asking {
  /** Fires when the question is settled or taken back. */
  readonly signal: AbortSignal;
  /** Whether nobody else was seen at the pod. */
  readonly isAlone: boolean;
}

export interface Decision extends Pick<CommandOf<'decide'>, 'decision' | 'comment' | 'remember'> {
  /** Who has decided, if it was not the person here. */
  readonly by?: string;
}

export interface Denial {
  /** Also what somebody else at the pod could answer. */
  readonly isForAll: boolean;
  readonly onDenied: () => void;
  /** A question is left to those who are at the pod. */
  readonly onLeft: (approval: Approval) => void;
}

/** Nobody is there to be asked: what needs permission is denied, and the model is told so. */
export function denyAll({ isForAll, onDenied, onLeft }: Denial): Ask {
  return async (approval, { isAlone }) => {
    if (!isForAll && !isAlone) {
      onLeft(approval);
      return undefined;
    }
    onDenied();
    return {
      decision: 'deny',
      by: RUN_WITHOUT_PERSON,
      comment: `${approval.reason} Nobody can be asked in this run: find another way, or say what you need.`,
    };
  };
}

/** Asks on the terminal, one question after the other. */
export function askOnTerminal(around: Surroundings, makeRoom: () => void): Ask {
  let last: Promise<unknown> = Promise.resolve();
  return (approval, { signal }) => {
    const answer = last.then(() => askOnce(approval, around, makeRoom, signal));
    last = answer.catch(() => {});
    return answer;
  };
}

async function askOnce(
  approval: Approval,
  around: Surroundings,
  makeRoom: () => void,
  signal: AbortSignal,
): Promise<Decision | undefined> {
  if (signal.aborted) return undefined;
  const { tool, title, reason, rule } = approval;
  const paint = brush(wantsColour(around.stderr, around.env));
  makeRoom();
  // The model wrote it: what it shows is what would run.
  around.stderr.write(
    `\n${paint.bold(`${harmless(tool)} wants to run:`)} ${harmless(title)}\n${beyondTitle(approval)}  ${paint.dim(harmless(reason))}\n`,
  );
  const lines = createInterface({ input: around.stdin, output: around.stderr });
  // Ctrl-C is meant for the program, although the question has the terminal.
  lines.on('SIGINT', () => process.kill(process.pid, 'SIGINT'));
  const forget = onAbort(signal, () => lines.close());
  try {
    const always = rule === undefined ? '' : ', [a]lways in this session';
    for (;;) {
      const line = (await lines.question(`Allow it? [y]es, [n]o${always}: `, { signal }))
        .trim()
        .toLowerCase();
      if (line === 'y' || line === 'yes') return { decision: 'approve' };
      if (rule !== undefined && (line === 'a' || line === 'always'))
        return { decision: 'approve', remember: 'session' };
      if (line === 'n' || line === 'no' || line === '') return await refusal(lines, signal);
    }
  } catch {
    // The input ended; or the question was settled meanwhile.
    return signal.aborted
      ? undefined
      : { decision: 'deny', by: RUN_WITHOUT_PERSON, comment: 'The input ended before anybody answered.' };
  } finally {
    forget();
    lines.close();
  }
}

async function refusal(lines: ReturnType<typeof createInterface>, signal: AbortSignal): Promise<Decision> {
  const why = (await lines.question('What should it do instead? (Enter for nothing) ', { signal })).trim();
  return why === '' ? { decision: 'deny' } : { decision: 'deny', comment: why };
}
