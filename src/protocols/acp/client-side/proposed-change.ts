import { isUtf8 } from 'node:buffer';
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { arrayOf, type JsonObject, objectOf, systemCodeOf } from '../../../base/index.ts';
import { locationsOf, textBlock } from '../encode/tool-call.ts';
import type { ToolCallContent } from '../wire.ts';

/** The most characters of the texts in a request. Editors limit the length of a line, and show each diff as a whole. */
const MAX_CHARACTERS = 200_000;
const CONTEXT_LINES = 3;

/** What a call would change in a file, for the person who decides about it. Other calls have no content. */
export async function proposedChange(
  tool: string,
  input: JsonObject | undefined,
  cwd: string,
): Promise<readonly ToolCallContent[]> {
  const path = locationsOf(input, cwd)[0]?.path;
  if (input === undefined || path === undefined) return [];
  if (tool === 'edit') return replacements(input, path);
  if (tool === 'write' && typeof input.content === 'string') return [await replacedFile(path, input.content)];
  return [];
}

/** The texts that an edit names. The rest of the file stays as it is. */
function replacements(input: JsonObject, path: string): readonly ToolCallContent[] {
  const edits = input.edits === undefined ? [input] : arrayOf(input.edits).map(objectOf);
  const diffs = edits.flatMap(({ old: oldText, new: newText }) =>
    typeof oldText === 'string' && typeof newText === 'string'
      ? [{ type: 'diff', path, oldText, newText } as const]
      : [],
  );
  const length = diffs.reduce((sum, { oldText, newText }) => sum + oldText.length + newText.length, 0);
  return length > MAX_CHARACTERS ? [tooLong(length)] : diffs;
}

async function replacedFile(path: string, newText: string): Promise<ToolCallContent> {
  const current = await currentText(path);
  switch (current.type) {
    case 'absent':
      return newText.length > MAX_CHARACTERS ? tooLong(newText.length) : { type: 'diff', path, newText };
    case 'unreadable':
      return textBlock(
        `The file exists and is replaced. Its current content is not shown: ${current.reason}.`,
      );
    case 'text': {
      const whole = { before: current.text, after: newText };
      const { before, after } = lengthOf(whole) > MAX_CHARACTERS ? changedPart(whole) : whole;
      const length = lengthOf({ before, after });
      return length > MAX_CHARACTERS
        ? tooLong(length)
        : { type: 'diff', path, oldText: before, newText: after };
    }
  }
}

function tooLong(characters: number): ToolCallContent {
  return textBlock(`The change is too long to show: ${characters} characters. The input has the new text.`);
}

interface Texts {
  readonly before: string;
  readonly after: string;
}

function lengthOf({ before, after }: Texts): number {
  return before.length + after.length;
}

/** The lines that differ, with some lines around them. */
function changedPart({ before, after }: Texts): Texts {
  const [old, now] = [before.split('\n'), after.split('\n')];
  const shortest = Math.min(old.length, now.length);
  let start = 0;
  while (start < shortest && old[start] === now[start]) start += 1;
  let end = 0;
  while (end < shortest - start && old.at(-1 - end) === now.at(-1 - end)) end += 1;
  const from = Math.max(0, start - CONTEXT_LINES);
  const rest = Math.max(0, end - CONTEXT_LINES);
  const part = (lines: readonly string[]): string => lines.slice(from, lines.length - rest).join('\n');
  return { before: part(old), after: part(now) };
}

type CurrentText =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'absent' }
  | { readonly type: 'unreadable'; readonly reason: string };

/** The largest file that is compared. */
const MAX_BYTES = 2 * 1024 * 1024;

async function currentText(path: string): Promise<CurrentText> {
  try {
    // Without waiting: to open a pipe blocks until somebody writes to it.
    const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const found = await file.stat();
      if (!found.isFile()) return { type: 'unreadable', reason: 'it is not a regular file' };
      if (found.size > MAX_BYTES) return { type: 'unreadable', reason: `it has ${found.size} bytes` };
      const bytes = await file.readFile();
      const isText = isUtf8(bytes) && !bytes.includes(0);
      return isText
        ? { type: 'text', text: bytes.toString('utf8') }
        : { type: 'unreadable', reason: 'it is not text' };
    } finally {
      await file.close();
    }
  } catch (thrown) {
    const code = systemCodeOf(thrown);
    if (code === 'ENOENT' || code === 'ENOTDIR') return { type: 'absent' };
    return { type: 'unreadable', reason: code ?? 'it cannot be read' };
  }
}
