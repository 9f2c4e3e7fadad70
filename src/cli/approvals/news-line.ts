import type { ApprovalNews } from '../../daemon/index.ts';
import { harmless } from '../terminal/harmless.ts';
import { displayWidth, fitWidth } from '../width.ts';

/** What happened to an approval as one line: what, which, where, and the call or who decided. */
export function newsLine(news: ApprovalNews, columns: number | undefined): string {
  const { id, name, session, tool, title } = news;
  const what = news.type === 'asked' ? 'asked' : news.status;
  const where = name ?? session.slice(0, SHORT);
  const about = harmless(`${where}  ${tool}  ${title}${answerIn(news)}`);
  const line = `${what.padEnd(WORD_WIDTH)} ${id}  ${about}`;
  return `${columns === undefined || displayWidth(line) <= columns ? line : fitWidth(line, columns)}\n`;
}

function answerIn(news: ApprovalNews): string {
  if (news.type === 'asked') return '';
  const { by, door, comment } = news;
  const who = by === undefined ? '' : `, by ${by}${door === undefined ? '' : ` through ${door}`}`;
  return `${who}${comment === undefined || comment === '' ? '' : `: ${comment}`}`;
}

const SHORT = 8;
/** The longest of the words: `cancelled`. */
const WORD_WIDTH = 9;
