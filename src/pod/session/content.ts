import { arrayOf, isObject, type JsonObject, objectOf } from '../../base/index.ts';
import type { Content, Item, ItemOf } from '../../llm/index.ts';

/** Text and images in the format of the file. */
export function encodeContent(content: readonly Content[]): readonly JsonObject[] {
  return content.map((part) =>
    part.type === 'text'
      ? { type: 'text', text: part.text }
      : { type: 'image', data: part.data, mimeType: part.mediaType },
  );
}

/** The text and images of a message, which may also be plain text. Other parts are omitted. */
export function readContent(content: unknown): readonly Content[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return arrayOf(content).flatMap((part) => partOf(objectOf(part)));
}

function partOf({ type, text, data, mimeType }: JsonObject): Content[] {
  if (type === 'text' && typeof text === 'string') return [{ type, text }];
  if (type !== 'image' || typeof data !== 'string' || typeof mimeType !== 'string') return [];
  // xcsh stores large images next to the session file; a provider would reject the reference.
  if (data.startsWith('blob:')) return [{ type: 'text', text: '[image kept outside of this session file]' }];
  return [{ type, mediaType: mimeType, data }];
}

/** Reads an item that Polypod wrote. */
export function readItem(value: unknown): Item | undefined {
  if (!isObject(value)) return undefined;
  const seal = sealIn(value.seal);
  const sealed = seal === undefined ? {} : { seal };
  const { type, role, callId, name, text, isError } = value;
  const content = contentIn(value.content);
  switch (type) {
    case 'message':
      if (role !== 'user' && role !== 'assistant' && role !== 'system') return undefined;
      return content && { type, role, content, ...sealed };
    case 'tool-call':
      if (typeof callId !== 'string' || typeof name !== 'string' || typeof value.arguments !== 'string')
        return;
      return { type, callId, name, arguments: value.arguments, ...sealed };
    case 'tool-result':
      if (typeof callId !== 'string' || typeof isError !== 'boolean') return undefined;
      return content && { type, callId, content, isError };
    case 'reasoning':
      return typeof text === 'string' ? { type, text, ...sealed } : undefined;
    case 'opaque':
      return typeof name === 'string' && seal ? { type, name, seal } : undefined;
    default:
      return undefined;
  }
}

function sealIn(value: unknown): ItemOf<'opaque'>['seal'] | undefined {
  if (!isObject(value) || typeof value.wire !== 'string' || !isObject(value.data)) return undefined;
  return { wire: value.wire, data: value.data };
}

function contentIn(value: unknown): readonly Content[] | undefined {
  if (!Array.isArray(value)) return undefined;
  return value.flatMap((part): Content[] => {
    const { type, text, mediaType, data } = objectOf(part);
    if (type === 'text' && typeof text === 'string') return [{ type, text }];
    if (type !== 'image' || typeof mediaType !== 'string' || typeof data !== 'string') return [];
    return [{ type, mediaType, data }];
  });
}
