import type { ConversationItem, Host } from '../pod/index.ts';

/** Which items of a conversation are read: those after a number, or the last ones. */
export interface ConversationRange {
  /** The number of items before the page. Without it, the page has the last items. */
  readonly after?: number;
  readonly limit?: number;
}

/** Consecutive items of a conversation. */
export interface ConversationPage {
  readonly items: readonly ConversationItem[];
  /** The number of items before the page. */
  readonly first: number;
  /** The number of items of the conversation. */
  readonly total: number;
}

/** Reads a part of a conversation as people saw it, including the sessions that it was forked from. */
export async function conversationPage(
  history: Pick<Host['history'], 'conversation'>,
  id: string,
  { after, limit = Number.POSITIVE_INFINITY }: ConversationRange,
): Promise<ConversationPage> {
  const all = (await history.conversation(id)).flatMap(({ items }) => items);
  const first = Math.min(after ?? Math.max(0, all.length - limit), all.length);
  return { items: all.slice(first, first + limit), first, total: all.length };
}
