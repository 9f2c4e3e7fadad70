import type { ItemOf, Snapshot } from '../../../pod/index.ts';

type Item = Snapshot['items'][number];
type Content = ItemOf<'message'>['content'];

/** A row of a conversation: a message, a thought, a call or a result. Subscribers receive the same fields. */
export type TranscriptRow =
  | { readonly type: 'message'; readonly role: 'user' | 'assistant' | 'system'; readonly content: string }
  | { readonly type: 'thinking'; readonly content: string }
  | { readonly type: 'tool_call'; readonly callId: string; readonly name: string; readonly arguments: string }
  | { readonly type: 'tool_result'; readonly callId: string; readonly content: string }
  | { readonly type: 'system'; readonly subtype: string; readonly content: string };

/** The rows of a conversation item. Actions of the provider itself have none. */
export function transcriptRows(item: Item): readonly TranscriptRow[] {
  switch (item.type) {
    case 'message': {
      const content = textOf(item.content);
      return [
        ...(content === '' && item.role === 'assistant'
          ? []
          : [{ type: 'message', role: item.role, content } as const]),
        ...(item.interrupted === true ? [INTERRUPTION] : []),
      ];
    }
    case 'reasoning':
      return item.text === '' ? [] : [{ type: 'thinking', content: item.text }];
    case 'tool-call':
      return [
        { type: 'tool_call', callId: item.callId, name: item.name, arguments: argumentsOf(item.arguments) },
      ];
    case 'tool-result':
      return [{ type: 'tool_result', callId: item.callId, content: textOf(item.content) }];
    case 'opaque':
      return [];
  }
}

/** The row that Claude Code writes where an answer was interrupted. */
const INTERRUPTION: TranscriptRow = {
  type: 'message',
  role: 'user',
  content: '[Request interrupted by user]',
};

/** The text of an incomplete answer. It is not sent to the model again, but clients have received it. */
export function transcriptRowsOfBroken(items: readonly Item[]): readonly TranscriptRow[] {
  return items.filter(({ type }) => type === 'message').flatMap(transcriptRows);
}

/** Only the text: this protocol has no images. */
export function textOf(content: Content): string {
  return content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');
}

export function summaryRow(summary: string): TranscriptRow {
  return { type: 'system', subtype: 'compact', content: summary };
}

/** A call without arguments has an empty object. */
function argumentsOf(text: string): string {
  return text.trim() === '' ? '{}' : text;
}
