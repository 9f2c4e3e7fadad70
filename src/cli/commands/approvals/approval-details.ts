import type { WaitingApproval } from '../../../daemon/index.ts';
import { relativeTime } from '../../output/relative-time.ts';
import { sanitizeLine } from '../../../terminal/index.ts';
import { callLines } from '../../output/call-lines.ts';
import { indentedLines } from '../../output/indented-lines.ts';

/** Renders all facts about an approval, one per line, followed by the complete call. */
export function approvalDetails(
  approval: WaitingApproval,
  { now, columns }: { readonly now: Date; readonly columns: number | undefined },
): string {
  const { id, session, name, subagent, cwd, tool, reason, requestedAt, deadline } = approval;
  const facts: readonly (readonly [string, string | undefined])[] = [
    ['id', id],
    ['session', name === undefined ? session : `${name}  ${session}`],
    ['sub-agent', subagent],
    ['directory', cwd],
    ['asked', `${requestedAt} (${relativeTime(requestedAt, now)} ago)`],
    ['until', deadline],
    ['why', reason],
    ['tool', tool],
  ];
  const lines = facts.flatMap(([word, text]) =>
    text === undefined || text === '' ? [] : [`${word.padEnd(WIDTH)} ${sanitizeLine(text)}`],
  );
  return `${[...lines, ...indentedLines(callLines(approval), columns)].join('\n')}\n`;
}

const WIDTH = 9;
