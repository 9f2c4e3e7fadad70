import { type Content, type Item, textContent, contentText, type ItemOf } from '../llm/index.ts';

/**
 * The items of an interrupted answer: its text so far, marked as interrupted. Reasoning without a signature and calls that
 * were not run cannot be sent back.
 */
export function interruptedItems(texts: readonly string[]): readonly Item[] {
  const messages = texts.filter((text) => text.trim() !== '').map(assistantMessage);
  const last = messages.pop() ?? { type: 'message', role: 'assistant', content: [] };
  return [...messages, { ...last, interrupted: true }];
}

/** The texts of the messages among the items. */
export function messageTexts(items: readonly Item[]): readonly string[] {
  return items.flatMap((item) => (item.type === 'message' ? [contentText(item.content)] : []));
}

/**
 * The conversation as it is sent to the model: after an interrupted answer, the next user message starts with a note. The note
 * is not a separate message, because some servers require alternating roles.
 */
export function markInterruptions(items: readonly Item[]): readonly Item[] {
  if (!items.some(isInterrupted)) return items;
  const marked: Item[] = [];
  let needsNote = false;
  for (const item of items) {
    if (needsNote && isUserMessage(item)) marked.push({ ...item, content: withNote(item.content) });
    else if (needsNote)
      marked.push({ type: 'message', role: 'user', content: textContent(NOTE) }, ...withoutMark(item));
    else marked.push(...withoutMark(item));
    needsNote = isInterrupted(item);
  }
  if (needsNote) marked.push({ type: 'message', role: 'user', content: textContent(NOTE) });
  return marked;
}

const NOTE = '[Request interrupted by user]';

type Message = ItemOf<'message'>;

function assistantMessage(text: string): Message {
  return { type: 'message', role: 'assistant', content: textContent(text) };
}

function isInterrupted(item: Item): item is Message {
  return item.type === 'message' && item.interrupted === true;
}

function isUserMessage(item: Item): item is Message {
  return item.type === 'message' && item.role === 'user' && !isInterrupted(item);
}

/** Removes the mark, and leaves out an answer that was interrupted before its first word. */
function withoutMark(item: Item): readonly Item[] {
  if (!isInterrupted(item)) return [item];
  const { interrupted: _, ...message } = item;
  return contentText(item.content).trim() === '' ? [] : [message];
}

/** Adds the note to the first text part, because not every server accepts several parts. */
function withNote(content: readonly Content[]): readonly Content[] {
  const [first, ...rest] = content;
  if (first?.type !== 'text') return [...textContent(NOTE), ...content];
  return [{ type: 'text', text: `${NOTE}\n\n${first.text}` }, ...rest];
}
