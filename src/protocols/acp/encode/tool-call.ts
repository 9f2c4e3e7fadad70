import { isAbsolute, resolve } from 'node:path';
import { isObject, type JsonObject, parseObject, stringOf } from '../../../base/index.ts';
import type { ItemOf, PodEventOf } from '../../../pod/index.ts';
import type { ContentBlock, Location, ToolCallContent, ToolCallFields, ToolKind } from '../wire.ts';
import { hunksOf } from './hunks.ts';

export type Content = ItemOf<'message'>['content'];
export type ToolOutput = PodEventOf<'tool-end'>['output'];

const KINDS: Readonly<Record<string, ToolKind>> = {
  read: 'read',
  ls: 'read',
  grep: 'search',
  find: 'search',
  edit: 'edit',
  write: 'edit',
  bash: 'execute',
  web_fetch: 'fetch',
  web_search: 'fetch',
  todo: 'think',
};

export function kindOf(tool: string): ToolKind {
  return KINDS[tool] ?? 'other';
}

/** The arguments of a call as an object; undefined if the model wrote none. */
export function inputOf(json: string): JsonObject | undefined {
  return parseObject(json);
}

const MAX_TITLE = 120;

/** The title of a call that was not started: its name and what it is about. */
export function titleOf(tool: string, input: JsonObject | undefined): string {
  const about = ['command', 'path', 'pattern', 'url', 'query', 'description']
    .map((key) => stringOf(input?.[key]))
    .find((text) => text !== '');
  if (about === undefined) return tool;
  const line = about.replace(/\s+/g, ' ').trim().slice(0, MAX_TITLE);
  return tool === 'bash' ? line : `${tool} ${line}`;
}

/** The file that a call is about. An editor follows the agent to it. */
export function locationsOf(input: JsonObject | undefined, cwd: string): readonly Location[] {
  const path = stringOf(input?.path);
  if (path === '') return [];
  const line = typeof input?.offset === 'number' && Number.isInteger(input.offset) ? input.offset : undefined;
  const absolute = isAbsolute(path) ? path : resolve(cwd, path);
  return [line === undefined || line < 1 ? { path: absolute } : { path: absolute, line }];
}

export function blockOf(content: Content[number]): ContentBlock {
  return content.type === 'text'
    ? { type: 'text', text: content.text }
    : { type: 'image', data: content.data, mimeType: content.mediaType };
}

export function textBlock(text: string): ToolCallContent {
  return { type: 'content', content: { type: 'text', text } };
}

/** The result of a call: its diffs if it changed a file, otherwise what the model reads. */
export function resultFields(
  output: Pick<ToolOutput, 'content' | 'details'>,
  input: JsonObject | undefined,
  cwd: string,
): Pick<ToolCallFields, 'content' | 'rawOutput'> {
  const diffs = diffsOf(stringOf(output.details?.diff), locationsOf(input, cwd)[0]?.path);
  return {
    content:
      diffs.length > 0
        ? diffs
        : output.content.map((part) => ({ type: 'content', content: blockOf(part) }) as const),
    ...(isObject(output.details) && { rawOutput: output.details }),
  };
}

/** One diff for each hunk. The protocol has no unified diffs, only texts before and after. */
export function diffsOf(diff: string, path: string | undefined): readonly ToolCallContent[] {
  if (diff === '' || path === undefined) return [];
  return hunksOf(diff).map(({ before, after }) => ({
    type: 'diff',
    path,
    ...(before !== '' && { oldText: before }),
    newText: after,
  }));
}
