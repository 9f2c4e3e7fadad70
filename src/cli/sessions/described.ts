import { ago } from '../ago.ts';
import type { Shown } from '../ls.ts';
import { harmless } from '../terminal/harmless.ts';

/** A session with the sessions that went on from it. */
export type ShownSession = Shown & { readonly children: readonly string[] };

/** All that is known of a session, one fact per line. */
export function described(session: ShownSession, now: Date): string {
  const { id, name, state, model, cwd, totals, parentId, children, firstPrompt, lastText } = session;
  const when = (time: string): string => `${time} (${ago(time, now)} ago)`;
  const facts: readonly (readonly [string, string | undefined])[] = [
    ['id', id],
    ['name', name],
    ['state', session.archived ? `${state}, archived` : state],
    ['run', lastRunOf(session)],
    ...session.approvals.map(({ approvalId, title }) => ['asks', `${title}  ${approvalId}`] as const),
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
    .flatMap(([word, text]) =>
      text === undefined || text === '' ? [] : [`${word.padEnd(WIDTH)} ${harmless(text)}\n`],
    )
    .join('');
}

const WIDTH = 9;

function lastRunOf({ lastRun }: ShownSession): string | undefined {
  if (lastRun === undefined) return undefined;
  const { status, message } = lastRun;
  return message === undefined ? status : `${status}: ${message}`;
}

function usedIn({ turns, inputTokens, outputTokens, cost }: ShownSession['totals']): string {
  const price = cost === undefined ? '' : `, $${cost.toFixed(2)}`;
  return `${turns} turns, ${inputTokens} tokens read, ${outputTokens} written${price}`;
}
