import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { JsonObject } from '../../base/index.ts';
import type { Content } from '../../llm/index.ts';
import type { ToolOutput } from '../../tools/index.ts';
import { beginning, oneLine } from '../shorten.ts';
import type { CallResult } from './result.ts';

/** How much of one answer a model gets: characters of text, and images. */
export interface OutputLimit {
  readonly text: number;
  readonly images: number;
}

export const OUTPUT_LIMIT: OutputLimit = { text: 50_000, images: 20 };

/** What a call brought, cut to what a model can bear; the whole of a longer text goes to a file. */
export async function outputOf(
  { content, isError, structured }: CallResult,
  origin: JsonObject,
  scratch: string,
): Promise<ToolOutput> {
  const { kept, omitted } = capped(content, OUTPUT_LIMIT);
  const outputFile = omitted.text > 0 ? await saved(linesOf(content), scratch) : undefined;
  const isSmall = structured !== undefined && JSON.stringify(structured).length <= OUTPUT_LIMIT.text;
  return {
    summary: summaryOf(kept),
    content: [...kept, ...notesOf(omitted, outputFile, kept.length === 0)],
    isError,
    details: {
      ...origin,
      ...(isSmall ? { structured } : {}),
      ...(outputFile === undefined ? {} : { outputFile }),
    },
  };
}

/** The content up to the limit, and how much of it was left out. */
export function capped(
  content: readonly Content[],
  limit: OutputLimit,
): { readonly kept: readonly Content[]; readonly omitted: OutputLimit } {
  const kept: Content[] = [];
  const omitted = { text: 0, images: 0 };
  const left = { ...limit };
  for (const part of content) {
    if (part.type === 'text') {
      const text = beginning(part.text, left.text);
      // After a cut nothing more: a later short piece would look like the end of what was cut.
      left.text = text.length < part.text.length ? 0 : left.text - text.length;
      omitted.text += part.text.length - text.length;
      if (text !== '') kept.push({ type: 'text', text });
    } else if (left.images > 0) {
      left.images -= 1;
      kept.push(part);
    } else omitted.images += 1;
  }
  return { kept, omitted };
}

function notesOf(omitted: OutputLimit, file: string | undefined, isEmpty: boolean): readonly Content[] {
  const place = file === undefined ? '' : `; the whole text is in ${file}`;
  const notes = [
    ...(isEmpty ? ['(no output)'] : []),
    ...(omitted.text > 0 ? [`[${omitted.text} more characters are left out${place}]`] : []),
    ...(omitted.images > 0 ? [`[${omitted.images} more images are left out]`] : []),
  ];
  return notes.map((text) => ({ type: 'text', text }));
}

async function saved(text: string, scratch: string): Promise<string | undefined> {
  const file = join(scratch, `mcp-${randomUUID()}.txt`);
  try {
    await writeFile(file, text, { mode: 0o600 });
    return file;
  } catch {
    // The part that the model gets is worth more than an error about the rest.
    return undefined;
  }
}

function summaryOf(content: readonly Content[]): string {
  const line = /\S.*/.exec(linesOf(content))?.[0];
  if (line !== undefined) return oneLine(line, LONGEST_SUMMARY);
  const images = content.filter(({ type }) => type === 'image').length;
  return images === 0 ? '(no output)' : `${images} ${images === 1 ? 'image' : 'images'}`;
}

function linesOf(content: readonly Content[]): string {
  return content.map((part) => (part.type === 'text' ? part.text : '')).join('\n');
}

const LONGEST_SUMMARY = 120;
