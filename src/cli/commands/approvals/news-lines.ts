import type { ApprovalNews } from '../../../daemon/index.ts';
import { sanitizeLine, displayWidth, fitWidth } from '../../../terminal/index.ts';
import { callPreview } from '../../output/call-lines.ts';
import { indentedLines } from '../../output/indented-lines.ts';

/** Renders a change of an approval: the change, the id, the session and who decided; for a new approval also the call. */
export function newsLines(news: ApprovalNews, columns: number | undefined): string {
  const { id, name, session, tool, title } = news;
  const where = name ?? session.slice(-SHORT);
  if (news.type === 'asked') {
    const call = indentedLines(callPreview(news, `polypod approvals show ${id}`), columns);
    return `${[`${'asked'.padEnd(WORD_WIDTH)} ${id}  ${sanitizeLine(`${where}  ${tool}`)}`, ...call].join('\n')}\n`;
  }
  const about = sanitizeLine(`${where}  ${tool}  ${title}${answerIn(news)}`);
  const line = `${news.status.padEnd(WORD_WIDTH)} ${id}  ${about}`;
  return `${columns === undefined || displayWidth(line) <= columns ? line : fitWidth(line, columns)}\n`;
}

function answerIn({ by, door, comment }: Extract<ApprovalNews, { type: 'settled' }>): string {
  const who = by === undefined ? '' : `, by ${by}${door === undefined ? '' : ` through ${door}`}`;
  return `${who}${comment === undefined || comment === '' ? '' : `: ${comment}`}`;
}

const SHORT = 8;
/** The length of the longest word, `cancelled`. */
const WORD_WIDTH = 9;
