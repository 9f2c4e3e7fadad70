import { readFile } from 'node:fs/promises';
import { arrayOf, isObject, type JsonObject, parseObject, objectOf, stringOf } from '../../base/index.ts';
import type { Prompt } from '../../pod/index.ts';
import type { EarlierPrompt } from './pod-location.ts';

/** The fields of a session entry that are needed here. */
export interface KeptEntry {
  readonly id: string;
  readonly parentId: string | null;
  readonly type: string;
  readonly message?: JsonObject;
}

/** The prompts of the current conversation that contain text. */
export function currentPrompts(prompts: readonly Prompt[]): readonly EarlierPrompt[] {
  return prompts.flatMap(({ isCurrent, message, before }) => {
    const text = isCurrent ? textIn(message.content) : '';
    return text === '' ? [] : [{ text, before }];
  });
}

/** The prompts on the path from the root to the last entry. */
export function promptsAmong(entries: readonly KeptEntry[]): readonly EarlierPrompt[] {
  const known = new Map(entries.map((entry) => [entry.id, entry]));
  const path: KeptEntry[] = [];
  for (let at = entries.at(-1); at !== undefined; at = known.get(at.parentId ?? '')) {
    path.push(at);
    // A file of another program can contain a cycle.
    known.delete(at.id);
  }
  return path.toReversed().flatMap(({ type, message, parentId }) => {
    const text = type === 'message' && message?.role === 'user' ? textIn(message.content) : '';
    return text === '' ? [] : [{ text, before: parentId ?? 'root' }];
  });
}

/** Reads the entries of a session file that another process has open. */
export async function entriesIn(file: string): Promise<readonly KeptEntry[]> {
  const lines = (await readFile(file, 'utf8')).split('\n').slice(1);
  return lines.flatMap((line) => {
    const entry = parseObject(line);
    const id = stringOf(entry?.id);
    if (entry === undefined || id === '') return [];
    const parentId = stringOf(entry.parentId);
    return [
      {
        id,
        parentId: parentId === '' ? null : parentId,
        type: stringOf(entry.type),
        message: objectOf(entry.message),
      },
    ];
  });
}

function textIn(content: unknown): string {
  if (typeof content === 'string') return content;
  return arrayOf(content)
    .flatMap((part) => (isObject(part) && part.type === 'text' ? [stringOf(part.text)] : []))
    .join('\n');
}
