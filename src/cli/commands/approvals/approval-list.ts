import type { WaitingApproval } from '../../../daemon/index.ts';
import { shortIds } from '../../../setup/index.ts';
import { ago } from '../../output/relative-time.ts';
import { harmless } from '../../../terminal/index.ts';
import { callGlance } from './call-lines.ts';
import { under } from './indented-lines.ts';

/** The approvals that wait, for a person: of each a line that says which and where, and under it what would be done. */
export function listed(
  waiting: readonly WaitingApproval[],
  { now, columns }: { readonly now: Date; readonly columns: number | undefined },
): string {
  const ids = shortIds(waiting.map(({ id }) => id));
  const sessions = shortIds([...new Set(waiting.map(({ session }) => session))]);
  return waiting
    .map((approval) => {
      const { id, session, name, requestedAt, tool } = approval;
      const short = ids.get(id) ?? id;
      const where = name === undefined ? (sessions.get(session) ?? session) : harmless(name);
      const lines = callGlance(approval, `polypod approvals show ${short}`);
      return [`${short}  ${where}  ${ago(requestedAt, now)}  ${harmless(tool)}`, ...under(lines, columns)];
    })
    .map((lines) => `${lines.join('\n')}\n`)
    .join('');
}
