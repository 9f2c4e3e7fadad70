import type { WaitingApproval } from '../../../daemon/index.ts';
import { shortIds } from '../../../setup/index.ts';
import { relativeTime } from '../../output/relative-time.ts';
import { sanitizeLine } from '../../../terminal/index.ts';
import { callPreview } from '../../output/call-lines.ts';
import { indentedLines } from '../../output/indented-lines.ts';

/** Renders the pending approvals: a line with id and session each, followed by the call. */
export function approvalList(
  waiting: readonly WaitingApproval[],
  { now, columns }: { readonly now: Date; readonly columns: number | undefined },
): string {
  const ids = shortIds(waiting.map(({ id }) => id));
  const sessions = shortIds([...new Set(waiting.map(({ session }) => session))]);
  return waiting
    .map((approval) => {
      const { id, session, subagent, name = subagent, requestedAt, tool } = approval;
      const short = ids.get(id) ?? id;
      const where = name === undefined ? (sessions.get(session) ?? session) : sanitizeLine(name);
      const lines = callPreview(approval, `polypod approvals show ${short}`);
      return [
        `${short}  ${where}  ${relativeTime(requestedAt, now)}  ${sanitizeLine(tool)}`,
        ...indentedLines(lines, columns),
      ];
    })
    .map((lines) => `${lines.join('\n')}\n`)
    .join('');
}
