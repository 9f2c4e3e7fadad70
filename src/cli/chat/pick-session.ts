import { createInterface } from 'node:readline/promises';
import { PolypodError } from '../../base/index.ts';
import { shortIds } from '../../setup/index.ts';
import type { Row } from '../../pod/sessions.ts';
import { relativeTime } from '../output/relative-time.ts';
import type { CommandContext } from '../command.ts';
import { fitWidth } from '../../terminal/index.ts';

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

/** Lists the most recent sessions and returns the one that the user selects. */
export async function pickSession(rows: readonly Row[], context: CommandContext): Promise<string> {
  const shown = rows.filter(({ archived }) => !archived).slice(0, MOST);
  if (shown.length === 0) throw new PolypodError('not-found', 'there is no session to resume: omit --resume');
  if (context.stdin.isTTY !== true)
    throw new PolypodError(
      'bad-request',
      'cannot ask for the session without a terminal: pass it as --resume ID',
    );
  const ids = shortIds(rows.map(({ id }) => id));
  const now = new Date();
  const { columns = 80 } = context.stdout;
  for (const [index, { id, name, updatedAt, firstPrompt = '' }] of shown.entries()) {
    const about = [
      ids.get(id),
      relativeTime(updatedAt, now).padStart(6),
      name,
      firstPrompt.replace(/\s+/g, ' '),
    ];
    const text = `${String(index + 1).padStart(3)}  ${about.filter(Boolean).join('  ')}`;
    context.stdout.write(`${fitWidth(text, columns)}\n`);
  }
  const lines = createInterface({ input: context.stdin, output: context.stdout });
  try {
    const answer = (await lines.question('Which one? ', { signal: context.signal })).trim();
    return shown[Number(answer) - 1]?.id ?? answer;
  } finally {
    lines.close();
  }
}
