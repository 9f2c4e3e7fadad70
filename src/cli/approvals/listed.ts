import { shortIds, type WaitingApproval } from '../../daemon/index.ts';
import { ago } from '../ago.ts';
import { table } from '../table.ts';
import { harmless } from '../terminal/harmless.ts';
import { fitWidth } from '../width.ts';

const HEADINGS = ['id', 'session', 'age', 'tool', 'about'];
/** The age is flush right. */
const RIGHT = new Set([2]);
const NAME_WIDTH = 24;

/** The approvals that wait as lines for a person; without a width nothing is cut. */
export function listed(
  waiting: readonly WaitingApproval[],
  { now, columns }: { readonly now: Date; readonly columns: number | undefined },
): string {
  const ids = shortIds(waiting.map(({ id }) => id));
  const sessions = shortIds([...new Set(waiting.map(({ session }) => session))]);
  const cells = waiting.map(({ id, session, name, requestedAt, tool, title }) => [
    ids.get(id) ?? id,
    name === undefined ? (sessions.get(session) ?? session) : fitWidth(harmless(name), NAME_WIDTH),
    ago(requestedAt, now),
    tool,
    harmless(title),
  ]);
  return table([HEADINGS, ...cells], { right: RIGHT, columns });
}
