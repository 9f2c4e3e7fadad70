import { createInterface } from 'node:readline/promises';
import { onAbort } from '../base/index.ts';
import type { AskedAnswer } from '../daemon/index.ts';
import type { PermissionQuestion } from '../worker/index.ts';
import type { Surroundings } from './command.ts';
import { brush, wantsColour } from './paint.ts';

export type Ask = (question: PermissionQuestion, signal: AbortSignal) => Promise<AskedAnswer>;

/** Nobody is there to be asked: what needs permission is denied, and the model is told so. */
export function denyAll(onDenied: () => void): Ask {
  return async ({ reason }) => {
    onDenied();
    return {
      decision: 'deny',
      reason: `${reason} Nobody can be asked in this run: find another way, or say what you need.`,
    };
  };
}

/** Asks on the terminal, one question after the other. */
export function askOnTerminal(around: Surroundings, makeRoom: () => void): Ask {
  let last: Promise<unknown> = Promise.resolve();
  return (question, signal) => {
    const answer = last.then(() => askOnce(question, around, makeRoom, signal));
    last = answer.catch(() => {});
    return answer;
  };
}

async function askOnce(
  { call, reason, rule }: PermissionQuestion,
  around: Surroundings,
  makeRoom: () => void,
  signal: AbortSignal,
): Promise<AskedAnswer> {
  if (signal.aborted) return { decision: 'pause' };
  const paint = brush(wantsColour(around.stderr, around.env));
  makeRoom();
  around.stderr.write(
    `\n${paint.bold(`${call.name} wants to run:`)} ${call.title}\n  ${paint.dim(reason)}\n`,
  );
  const lines = createInterface({ input: around.stdin, output: around.stderr });
  const forget = onAbort(signal, () => lines.close());
  try {
    const always = rule === undefined ? '' : ', [a]lways in this session';
    for (;;) {
      const line = (await lines.question(`Allow it? [y]es, [n]o${always}: `, { signal }))
        .trim()
        .toLowerCase();
      if (line === 'y' || line === 'yes') return { decision: 'allow' };
      if (rule !== undefined && (line === 'a' || line === 'always'))
        return { decision: 'allow', remember: true };
      if (line === 'n' || line === 'no' || line === '') return await refusal(lines, signal);
    }
  } catch {
    // The input ended, or the run was cancelled while the question stood.
    return { decision: 'deny', reason: 'The person did not answer.' };
  } finally {
    forget();
    lines.close();
  }
}

async function refusal(lines: ReturnType<typeof createInterface>, signal: AbortSignal): Promise<AskedAnswer> {
  const why = (await lines.question('What should it do instead? (Enter for nothing) ', { signal })).trim();
  return {
    decision: 'deny',
    reason: why === '' ? 'The person did not allow it.' : `The person did not allow it: ${why}`,
  };
}
