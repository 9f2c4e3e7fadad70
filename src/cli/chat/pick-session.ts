import { createInterface } from 'node:readline/promises';
import { PolypodError } from '../../base/index.ts';
import type { Row } from '../../pod/sessions.ts';
import type { CommandContext } from '../command.ts';
import { fitWidth, type PickerItem, wantsPlain } from '../../terminal/index.ts';
import { pickOnTerminal } from './screen/pick-on-terminal.ts';
import { sessionItems } from './session-items.ts';

/** The value of `--resume` without an argument: show the list of sessions. */
export const RESUME_FROM_LIST = '?';

/** Adds that value to an argument list in which `--resume` has none. */
export function withBareResume(argv: readonly string[]): readonly string[] {
  const end = argv.indexOf('--');
  return argv.map((word, index) => {
    const next = argv[index + 1];
    const isBare = (word === '--resume' || word === '-r') && (next === undefined || next.startsWith('-'));
    return isBare && (end < 0 || index < end) ? `--resume=${RESUME_FROM_LIST}` : word;
  });
}

const MOST = 20;

/** Lists the sessions and returns the one that the user selects; undefined if the user selects none. */
export async function pickSession(
  rows: readonly Row[],
  isPlain: boolean,
  context: CommandContext,
): Promise<string | undefined> {
  const items = sessionItems(rows, new Date());
  if (items.length === 0) throw new PolypodError('not-found', 'there is no session to resume: omit --resume');
  if (context.stdin.isTTY !== true)
    throw new PolypodError(
      'bad-request',
      'cannot ask for the session without a terminal: pass it as --resume ID',
    );
  return isPlain || wantsPlain(context, context.env)
    ? pickByNumber(items.slice(0, MOST), context)
    : pickOnTerminal('Sessions', items, context);
}

async function pickByNumber(items: readonly PickerItem[], context: CommandContext): Promise<string> {
  const { columns = 80 } = context.stdout;
  for (const [index, { label, detail }] of items.entries())
    context.stdout.write(`${fitWidth(`${String(index + 1).padStart(3)}  ${label}  ${detail}`, columns)}\n`);
  const lines = createInterface({ input: context.stdin, output: context.stdout });
  try {
    const answer = (await lines.question('Which one? ', { signal: context.signal })).trim();
    return items[Number(answer) - 1]?.value ?? answer;
  } finally {
    lines.close();
  }
}
