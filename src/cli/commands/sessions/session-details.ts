import { dollars } from '../../output/dollars.ts';
import { relativeTime } from '../../output/relative-time.ts';
import { callLines } from '../../output/call-lines.ts';
import { indentedLines } from '../../output/indented-lines.ts';
import type { ListedRow } from '../ls.ts';
import { sanitizeLine } from '../../../terminal/index.ts';

/** A session with its complete pending approvals, and the sessions that continue it. */
export interface ShownSession extends ListedRow {
  readonly approvals: readonly (ListedRow['approvals'][number] & { readonly arguments?: string })[];
  readonly children: readonly string[];
}

/** Renders all facts about a session, one per line; a pending call follows its line in full. */
export function sessionDetails(
  session: ShownSession,
  { now, columns }: { readonly now: Date; readonly columns: number | undefined },
): string {
  const { id, name, title, state, model, cwd, totals, parentId, children, firstPrompt, lastText } = session;
  const when = (time: string): string => `${time} (${relativeTime(time, now)} ago)`;
  const facts: readonly (readonly [string, string | undefined, (readonly string[])?])[] = [
    ['id', id],
    ['name', name],
    ['title', title],
    ['state', session.archived ? `${state}, archived` : state],
    ['run', lastRunOf(session)],
    ...session.approvals.map(
      (approval) => ['asks', `${approval.tool}  ${approval.approvalId}`, callLines(approval)] as const,
    ),
    ['back end', session.backend],
    ['model', model],
    ['directory', cwd],
    ['made', when(session.createdAt)],
    ['changed', when(session.updatedAt)],
    ['used', usedIn(totals)],
    ['parent', parentId],
    ['children', children.length === 0 ? undefined : children.join(' ')],
    ['asked', firstPrompt],
    ['answered', lastText],
  ];
  return facts
    .flatMap(([word, text, lines = []]) =>
      text === undefined || text === ''
        ? []
        : [`${word.padEnd(WIDTH)} ${sanitizeLine(text)}`, ...indentedLines(lines, columns)],
    )
    .map((line) => `${line}\n`)
    .join('');
}

const WIDTH = 9;

function lastRunOf({ lastRun }: ShownSession): string | undefined {
  if (lastRun === undefined) return undefined;
  const { status, message } = lastRun;
  return message === undefined ? status : `${status}: ${message}`;
}

function usedIn({ turns, inputTokens, outputTokens, cost }: ShownSession['totals']): string {
  const price = cost === undefined ? '' : `, ${dollars(cost)}`;
  return `${turns === 1 ? '1 turn' : `${turns} turns`}, ${inputTokens} tokens read, ${outputTokens} written${price}`;
}
