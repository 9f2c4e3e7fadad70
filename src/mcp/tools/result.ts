import { arrayOf, type JsonObject, objectOf, stringOf } from '../../base/index.ts';
import type { Content } from '../../llm/index.ts';

/** A server's answer to a call, in a form that models accept. */
export interface CallResult {
  readonly content: readonly Content[];
  readonly isError: boolean;
  /** The same as structured data, if the server provides it. */
  readonly structured: unknown;
}

/** Reads the answer to a call. Nothing in it is trusted, and unknown content is described, not dropped. */
export function readResult(answer: unknown): CallResult {
  const { content, structuredContent: structured, isError } = objectOf(answer);
  const parts = arrayOf(content)
    .map((block) => parseBlock(objectOf(block)))
    // Some providers reject a whole request because of blank text.
    .filter((part) => part.type !== 'text' || part.text.trim() !== '');
  const hasText = parts.some(({ type }) => type === 'text');
  // Most servers repeat the structured data as text, some do not.
  const data = structured === undefined || hasText ? [] : [text(JSON.stringify(structured, null, 2))];
  return { content: mergeTexts([...parts, ...data]), isError: isError === true, structured };
}

function parseBlock(block: JsonObject): Content {
  const { type, mimeType, data } = block;
  switch (type) {
    case 'text':
      return text(stringOf(block.text));
    case 'image':
      return parseImage(stringOf(mimeType), stringOf(data)) ?? text(`[${binary('image', mimeType, data)}]`);
    case 'audio':
      return text(`[${binary('audio', mimeType, data)}]`);
    case 'resource':
      return parseResource(objectOf(block.resource));
    case 'resource_link':
      return text(`[link to ${linkText(block)}]`);
    default:
      return text(`[content of unknown type ${JSON.stringify(type ?? 'none')}]`);
  }
}

function parseResource(resource: JsonObject): Content {
  const { uri, mimeType, blob } = resource;
  if (typeof resource.text === 'string') return text(`[resource ${stringOf(uri)}]\n${resource.text}`);
  const image = parseImage(stringOf(mimeType), stringOf(blob));
  return image ?? text(`[resource ${stringOf(uri)}: ${binary('data', mimeType, blob)}]`);
}

function linkText({ uri, name, title, description, mimeType }: JsonObject): string {
  const about = [title ?? name, description, mimeType].map(stringOf).filter((part) => part !== '');
  return [stringOf(uri), ...about].join(', ');
}

function binary(kind: string, mimeType: unknown, base64: unknown): string {
  const bytes = Math.floor((stringOf(base64).length * 3) / 4);
  return `${kind} of type ${stringOf(mimeType) || 'unknown'}, ${bytes} bytes, not shown`;
}

/** Returns an image in a format and size that every provider accepts. */
function parseImage(mimeType: string, base64: string): Content | undefined {
  const mediaType = mimeType === 'image/jpg' ? 'image/jpeg' : mimeType;
  if (!IMAGES.has(mediaType) || base64.length > MAX_IMAGE) return undefined;
  const data = base64.replace(/\s+/g, '');
  return BASE64.test(data) ? { type: 'image', mediaType, data } : undefined;
}

const IMAGES: ReadonlySet<string> = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp']);
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;
/** In characters of base64: the smallest limit of all providers. */
const MAX_IMAGE = 5_000_000;

/** Merges adjacent texts, each on its own line. */
function mergeTexts(parts: readonly Content[]): readonly Content[] {
  const result: Content[] = [];
  for (const part of parts) {
    const last = result.at(-1);
    if (part.type === 'text' && last?.type === 'text')
      result[result.length - 1] = text(`${last.text}\n${part.text}`);
    else result.push(part);
  }
  return result;
}

function text(value: string): Content {
  return { type: 'text', text: value };
}
