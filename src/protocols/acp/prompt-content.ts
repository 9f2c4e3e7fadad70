import { arrayOf, objectOf, stringOf, tryOrUndefined } from '../../base/index.ts';
import { BASE64, MEDIA_TYPE } from '../../pod/index.ts';
import type { Content } from './encode/tool-call.ts';
import { invalidParam } from './errors.ts';

/** Reads the blocks of a prompt. Linked and embedded resources become text: the agent reads linked files itself. */
export function promptContent(blocks: unknown): Content {
  if (!Array.isArray(blocks)) throw invalidParam('prompt', 'must be a list of content blocks');
  const content = arrayOf(blocks).map((block, index) => contentOf(objectOf(block), `prompt[${index}]`));
  const isEmpty = content.every((part) => part.type === 'text' && part.text.trim() === '');
  if (isEmpty) throw invalidParam('prompt', 'must contain text, an image or a resource');
  return content;
}

function contentOf(block: Readonly<Record<string, unknown>>, place: string): Content[number] {
  switch (block.type) {
    case 'text':
      return { type: 'text', text: required(block.text, `${place}.text`) };
    case 'image':
      return {
        type: 'image',
        data: valid(BASE64, block.data, `${place}.data`),
        mediaType: valid(MEDIA_TYPE, block.mimeType, `${place}.mimeType`),
      };
    case 'resource_link':
      return { type: 'text', text: linkText(required(block.uri, `${place}.uri`), stringOf(block.name)) };
    case 'resource':
      return { type: 'text', text: resourceText(objectOf(block.resource), place) };
    default:
      throw invalidParam(
        `${place}.type`,
        `${JSON.stringify(block.type ?? null)} is not supported: use text, image, resource_link or resource`,
      );
  }
}

function required(value: unknown, field: string): string {
  if (typeof value === 'string') return value;
  throw invalidParam(field, 'must be a string');
}

function valid(expected: typeof BASE64, value: unknown, field: string): string {
  let reason = 'is invalid';
  const read = expected.read(value, [], ({ text }) => {
    reason = text;
  });
  if (read !== undefined) return read;
  throw invalidParam(field, reason);
}

/** A file is mentioned by its path, as in the chat. */
function linkText(uri: string, name: string): string {
  const path = filePath(uri);
  if (path === undefined) return name === '' ? uri : `${name}: ${uri}`;
  return /\s/.test(path) ? `@"${path}"` : `@${path}`;
}

function filePath(uri: string): string | undefined {
  if (!uri.startsWith('file://')) return undefined;
  return tryOrUndefined(() => decodeURIComponent(new URL(uri).pathname));
}

function resourceText(resource: Readonly<Record<string, unknown>>, place: string): string {
  const uri = required(resource.uri, `${place}.resource.uri`);
  const name = filePath(uri) ?? uri;
  if (typeof resource.text !== 'string')
    return `[The resource ${name} is not text (${stringOf(resource.mimeType) || 'unknown type'}) and was left out.]`;
  return `<resource uri=${JSON.stringify(name)}>\n${resource.text}\n</resource>`;
}
