import { type Content, type Item, textContent, textOf, type ItemOf } from '../llm/index.ts';

/**
 * What an interrupted answer leaves in the conversation: its text so far, marked where it broke off. Thoughts without their
 * signature and calls that nobody runs cannot be sent back.
 */
export function interruptedItems(texts: readonly string[]): readonly Item[] {
  const messages = texts.filter((text) => text.trim() !== '').map(assistantMessage);
  const last = messages.pop() ?? { type: 'message', role: 'assistant', content: [] };
  return [...messages, { ...last, interrupted: true }];
}

/** The texts in what there is of a broken answer. */
export function textsIn(items: readonly Item[]): readonly string[] {
  return items.flatMap((item) => (item.type === 'message' ? [textOf(item.content)] : []));
}

/**
 * The conversation as the model is to read it: where an answer was interrupted, the next message begins with a note that says
 * so. The note is no message of its own, because some servers insist that user and assistant take turns.
 */
export function withInterruptions(items: readonly Item[]): readonly Item[] {
  if (!items.some(isInterrupted)) return items;
  const spoken: Item[] = [];
  let isDue = false;
  for (const item of items) {
    if (isDue && isUserMessage(item)) spoken.push({ ...item, content: noted(item.content) });
    else if (isDue) spoken.push({ type: 'message', role: 'user', content: textContent(NOTE) }, ...said(item));
    else spoken.push(...said(item));
    isDue = isInterrupted(item);
  }
  if (isDue) spoken.push({ type: 'message', role: 'user', content: textContent(NOTE) });
  return spoken;
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

/** An answer that was interrupted before its first word says nothing. */
function said(item: Item): readonly Item[] {
  if (!isInterrupted(item)) return [item];
  const { interrupted: _, ...message } = item;
  return textOf(item.content).trim() === '' ? [] : [message];
}

/** In one part with the text: not every server takes several. */
function noted(content: readonly Content[]): readonly Content[] {
  const [first, ...rest] = content;
  if (first?.type !== 'text') return [...textContent(NOTE), ...content];
  return [{ type: 'text', text: `${NOTE}\n\n${first.text}` }, ...rest];
}
