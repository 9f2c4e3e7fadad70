import { contentText, type Content, type Item, textContent } from '../llm/index.ts';

/**
 * Adds the conversation so far to a prompt, for an agent that cannot continue its own session. Of a long conversation only the end
 * is handed over.
 */
export function withConversation(items: readonly Item[], prompt: readonly Content[]): readonly Content[] {
  const lines = items.map(lineOf).filter((line) => line !== '');
  if (lines.length === 0) return prompt;
  const kept: string[] = [];
  let length = 0;
  for (const line of lines.toReversed()) {
    length += line.length;
    if (length > MAX_HANDOVER && kept.length > 0) break;
    kept.unshift(line.slice(-MAX_HANDOVER));
  }
  const gap = kept.length < lines.length ? '[The beginning of the conversation is left out.]\n\n' : '';
  const text = `${INTRODUCTION}\n\n<conversation>\n${gap}${kept.join('\n\n')}\n</conversation>\n\n${NEXT}`;
  return [...textContent(text), ...prompt];
}

function lineOf(item: Item): string {
  switch (item.type) {
    case 'message': {
      const text = contentText(item.content).trim();
      const images = item.content.filter(({ type }) => type === 'image').length;
      const note = images === 0 ? '' : ` [${images} ${images === 1 ? 'image' : 'images'}]`;
      return text === '' && note === ''
        ? ''
        : `${item.role === 'user' ? 'User' : 'Assistant'}: ${text}${note}`;
    }
    case 'tool-call':
      return `Tool call ${item.callId}: ${item.name} ${shortened(item.arguments)}`;
    case 'tool-result':
      return `Result of ${item.callId}${item.isError ? ' (failed)' : ''}: ${shortened(contentText(item.content))}`;
    case 'reasoning':
    case 'opaque':
      return '';
  }
}

function shortened(text: string): string {
  return text.length <= MAX_PART
    ? text
    : `${text.slice(0, MAX_PART)}… [${text.length - MAX_PART} more characters]`;
}

const INTRODUCTION =
  'You continue a conversation that you had with this user earlier. It is quoted here because your own session is not available any more. The calls in it have been run; do not run them again unless it is necessary.';
const NEXT = 'The next message of the user follows.';
const MAX_PART = 4_000;
const MAX_HANDOVER = 200_000;
