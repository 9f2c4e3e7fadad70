import { createInterface } from 'node:readline/promises';
import { onAbort } from '../base/index.ts';
import type { Approval, CommandOf } from '../pod/index.ts';
import type { Surroundings } from './command.ts';
import { brush, wantsColour } from './paint.ts';

/** What was decided; undefined when the question was settled by somebody else, or taken back. */
export type Ask = (approval: Approval, signal: AbortSignal) => Promise<Decision | undefined>;
export type Decision = Pick<CommandOf<'decide'>, 'decision' | 'comment' | 'remember'>;

/** Nobody is there to be asked: what needs permission is denied, and the model is told so. */
export function denyAll(onDenied: () => void): Ask {
  return async ({ reason }) => {
    onDenied();
    return {
      decision: 'deny',
      comment: `${reason} Nobody can be asked in this run: find another way, or say what you need.`,
    };
  };
}

/** Asks on the terminal, one question after the other. */
export function askOnTerminal(around: Surroundings, makeRoom: () => void): Ask {
  let last: Promise<unknown> = Promise.resolve();
  return (approval, signal) => {
    const answer = last.then(() => askOnce(approval, around, makeRoom, signal));
    last = answer.catch(() => {});
    return answer;
  };
}

async function askOnce(
  { tool, title, reason, rule }: Approval,
  around: Surroundings,
  makeRoom: () => void,
  signal: AbortSignal,
): Promise<Decision | undefined> {
  if (signal.aborted) return undefined;
  const paint = brush(wantsColour(around.stderr, around.env));
  makeRoom();
  around.stderr.write(`\n${paint.bold(`${tool} wants to run:`)} ${title}\n  ${paint.dim(reason)}\n`);
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
    return signal.aborted ? undefined : { decision: 'deny', comment: 'The person did not answer.' };
  } finally {
    forget();
    lines.close();
  }
}

async function refusal(lines: ReturnType<typeof createInterface>, signal: AbortSignal): Promise<Decision> {
  const why = (await lines.question('What should it do instead? (Enter for nothing) ', { signal })).trim();
  return why === '' ? { decision: 'deny' } : { decision: 'deny', comment: why };
}
