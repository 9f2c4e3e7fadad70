import type { ItemOf, Snapshot } from '../../../pod/index.ts';
import type { WireContent, WireItem } from '../wire.ts';

export type Item = Snapshot['items'][number];
export type Content = ItemOf<'message'>['content'];

/** Encodes the conversation for `history`. Actions of the provider itself are omitted. */
export function historyItems(items: readonly Item[]): readonly WireItem[] {
  return items.flatMap(historyItem);
}

function historyItem(item: Item): readonly WireItem[] {
  switch (item.type) {
    case 'message':
      // An answer that was interrupted before its first text.
      if (item.interrupted === true && item.content.length === 0) return [];
      return [{ type: 'message', role: item.role, content: wireContent(item.content) }];
    case 'tool-call':
      return [
        {
          type: 'tool_call',
          call_id: item.callId,
          name: item.name,
          arguments: callArguments(item.arguments),
        },
      ];
    case 'tool-result':
      return [
        {
          type: 'tool_result',
          call_id: item.callId,
          output: textOf(item.content),
          is_error: item.isError,
          ...richContent(item.content),
        },
      ];
    case 'reasoning':
      return [{ type: 'reasoning', text: item.text }];
    case 'opaque':
      return [];
  }
}

/** The raw text as the model wrote it; an empty object for a call without arguments. */
export function callArguments(text: string): string {
  return text === '' ? '{}' : text;
}

/** The text without images. */
export function textOf(content: Content): string {
  return content.map((part) => (part.type === 'text' ? part.text : '')).join('');
}

/** The content parts, if there is more than text. */
export function richContent(content: Content): { readonly content?: readonly WireContent[] } {
  return content.some(({ type }) => type === 'image') ? { content: wireContent(content) } : {};
}

function wireContent(content: Content): readonly WireContent[] {
  return content.map((part) =>
    part.type === 'text'
      ? { type: 'text', text: part.text }
      : { type: 'image', media_type: part.mediaType, data: part.data },
  );
}
