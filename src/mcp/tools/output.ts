import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type JsonObject, withoutUndefined } from '../../base/index.ts';
import type { Content } from '../../llm/index.ts';
import type { ToolOutput } from '../../tools/index.ts';
import { truncate, oneLine } from '../shorten.ts';
import type { CallResult } from './result.ts';

/** How much of one answer a model gets: characters of text, and images. */
export interface OutputLimit {
  readonly text: number;
  readonly images: number;
}

export const OUTPUT_LIMIT: OutputLimit = { text: 50_000, images: 20 };

/** Converts the result of a call, truncated for the model; longer text is saved to a file. */
export async function toToolOutput(
  { content, isError, structured }: CallResult,
  origin: JsonObject,
  scratch: string,
): Promise<ToolOutput> {
  const { kept: included, omitted } = truncateContent(content, OUTPUT_LIMIT);
  const outputFile = omitted.text > 0 ? await saveText(contentText(content), scratch) : undefined;
  const isSmall = structured !== undefined && JSON.stringify(structured).length <= OUTPUT_LIMIT.text;
  return {
    summary: summarize(included),
    content: [...included, ...omissionNotes(omitted, outputFile, included.length === 0)],
    isError,
    details: {
      ...origin,
      ...(isSmall ? { structured } : {}),
      ...withoutUndefined({ outputFile }),
    },
  };
}

/** Returns the content up to the limit, and how much was omitted. */
export function truncateContent(
  content: readonly Content[],
  limit: OutputLimit,
): { readonly kept: readonly Content[]; readonly omitted: OutputLimit } {
  const included: Content[] = [];
  const omitted = { text: 0, images: 0 };
  const remaining = { ...limit };
  for (const part of content) {
    if (part.type === 'text') {
      const text = truncate(part.text, remaining.text);
      // Nothing follows a cut: a later short text would look like the end of what was cut.
      remaining.text = text.length < part.text.length ? 0 : remaining.text - text.length;
      omitted.text += part.text.length - text.length;
      if (text !== '') included.push({ type: 'text', text });
    } else if (remaining.images > 0) {
      remaining.images -= 1;
      included.push(part);
    } else omitted.images += 1;
  }
  return { kept: included, omitted };
}

function omissionNotes(omitted: OutputLimit, file: string | undefined, isEmpty: boolean): readonly Content[] {
  const savedTo = file === undefined ? '' : `; the full text is in ${file}`;
  const notes = [
    ...(isEmpty ? ['(no output)'] : []),
    ...(omitted.text > 0 ? [`[${omitted.text} more characters omitted${savedTo}]`] : []),
    ...(omitted.images > 0 ? [`[${omitted.images} more images omitted]`] : []),
  ];
  return notes.map((text) => ({ type: 'text', text }));
}

async function saveText(text: string, scratch: string): Promise<string | undefined> {
  const file = join(scratch, `mcp-${randomUUID()}.txt`);
  try {
    await writeFile(file, text, { mode: 0o600 });
    return file;
  } catch {
    // The truncated text is worth more than an error about the rest.
    return undefined;
  }
}

function summarize(content: readonly Content[]): string {
  const line = /\S.*/.exec(contentText(content))?.[0];
  if (line !== undefined) return oneLine(line, MAX_SUMMARY);
  const images = content.filter(({ type }) => type === 'image').length;
  return images === 0 ? '(no output)' : `${images} ${images === 1 ? 'image' : 'images'}`;
}

function contentText(content: readonly Content[]): string {
  return content.map((part) => (part.type === 'text' ? part.text : '')).join('\n');
}

const MAX_SUMMARY = 120;
