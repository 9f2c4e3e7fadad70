import {
  arrayOf,
  type JsonObject,
  numberOf,
  objectOf,
  stringOf,
  withoutUndefined,
} from '../../base/index.ts';
import type { Content } from '../../llm/index.ts';
import { diffDetails, formatCount, oneLine, type TodoItem, type ToolOutput } from '../../tools/index.ts';
import type { AgentCall } from '../agent-event.ts';

/** The result of a call as Claude Code reports it. */
export interface ClaudeResult {
  /** What the model reads: a text or content blocks. */
  readonly content: unknown;
  readonly isError: boolean;
  /** What Claude Code knows about it: output, patch, file. */
  readonly report: unknown;
}

/** Translates the result of a call, with the details that our own tools give. */
export function toolOutput(call: AgentCall, { content, isError, report }: ClaudeResult): ToolOutput {
  const parts = contentFrom(content);
  const text = parts.map((part) => (part.type === 'text' ? part.text : '')).join('\n');
  const { summary = firstLine(text, call.title), details } = isError
    ? describeError(call, text)
    : (DESCRIPTIONS.get(call.tool ?? '')?.(objectOf(report), call) ?? {});
  return { summary, content: parts, isError, ...withoutUndefined({ details }) };
}

function firstLine(text: string, otherwise: string): string {
  const plain = text.replaceAll(/<\/?tool_use_error>/g, '').trim();
  return oneLine(plain.split('\n', 1)[0] ?? '') || otherwise;
}

function describeError({ tool, title }: AgentCall, text: string): Description {
  const code = tool === 'bash' ? /^Exit code (\d+)(?:\n|$)/.exec(text)?.[1] : undefined;
  if (code === undefined) return {};
  return { summary: `${title}: exit code ${code}`, details: { exitCode: Number(code) } };
}

function contentFrom(content: unknown): readonly Content[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return arrayOf(content).map(objectOf).flatMap(contentPart);
}

function contentPart(block: JsonObject): readonly Content[] {
  if (block.type === 'text') return [{ type: 'text', text: stringOf(block.text) }];
  if (block.type === 'tool_reference') return [{ type: 'text', text: stringOf(block.tool_name) }];
  const source = objectOf(block.source);
  const data = stringOf(source.data);
  return block.type === 'image' && data !== ''
    ? [{ type: 'image', mediaType: stringOf(source.media_type), data }]
    : [];
}

interface Description {
  readonly summary?: string;
  readonly details?: JsonObject;
}

const DESCRIPTIONS: ReadonlyMap<string, (report: JsonObject, call: AgentCall) => Description> = new Map([
  ['bash', describeCommand],
  ['read', describeRead],
  ['edit', describeChange],
  ['write', describeChange],
]);

function describeCommand(report: JsonObject, { title }: AgentCall): Description {
  if (report.interrupted === true)
    return { summary: `${title}: cancelled`, details: { exitCode: null, endedBy: 'cancel' } };
  if (typeof report.backgroundTaskId === 'string') return { summary: `${title}: started` };
  return { summary: `${title}: done`, details: { exitCode: 0 } };
}

function describeRead(report: JsonObject, { title }: AgentCall): Description {
  const path = title.replace(/^read /, '').replace(/:\d+-\d*$/, '');
  const file = objectOf(report.file);
  const first = numberOf(file.startLine);
  const count = numberOf(file.numLines);
  const total = numberOf(file.totalLines);
  if (first === undefined || count === undefined || total === undefined) return { summary: path };
  const last = first + count - 1;
  const amount =
    first === 1 && last >= total ? formatCount(count, 'line') : `lines ${first}-${last} of ${total}`;
  return {
    summary: `${path}: ${amount}`,
    details: { firstLine: first, lastLine: last, lines: total },
  };
}

function describeChange(report: JsonObject, { title }: AgentCall): Description {
  const path = title.replace(/^(?:edit|write) /, '');
  const isNew = report.type === 'create' || (report.originalFile === null && report.type !== undefined);
  const hunks = isNew ? [wholeFile(stringOf(report.content))] : arrayOf(report.structuredPatch).map(objectOf);
  const lines = hunks.flatMap((hunk) => arrayOf(hunk.lines).map(stringOf));
  const added = lines.filter((line) => line.startsWith('+')).length;
  const removed = lines.filter((line) => line.startsWith('-')).length;
  const text = lines.length === 0 ? '' : [fileNames(path, isNew), ...hunks.map(hunkText)].join('');
  return {
    summary: isNew
      ? `Created ${path} (${formatCount(added, 'line')})`
      : `${title.startsWith('edit') ? 'Edited' : 'Updated'} ${path}: +${added} -${removed}`,
    details: { ...(isNew && { created: true }), ...diffDetails({ text, added, removed }) },
  };
}

function fileNames(path: string, isNew: boolean): string {
  return `--- ${isNew ? '/dev/null' : `a/${path}`}\n+++ b/${path}\n`;
}

function wholeFile(content: string): JsonObject {
  const isOpen = content !== '' && !content.endsWith('\n');
  const lines = content === '' ? [] : content.replace(/\n$/, '').split('\n');
  return {
    oldStart: 0,
    oldLines: 0,
    newStart: 1,
    newLines: lines.length,
    lines: [...lines.map((line) => `+${line}`), ...(isOpen ? ['\\ No newline at end of file'] : [])],
  };
}

function hunkText({ oldStart, oldLines, newStart, newLines, lines }: JsonObject): string {
  const range = (start: unknown, length: unknown): string =>
    length === 1 ? `${numberOf(start) ?? 0}` : `${numberOf(start) ?? 0},${numberOf(length) ?? 0}`;
  const head = `@@ -${range(oldStart, oldLines)} +${range(newStart, newLines)} @@`;
  return `${[head, ...arrayOf(lines).map(stringOf)].join('\n')}\n`;
}

/** The list after a call of a tool for todos succeeded; undefined if the call did not change it. */
export function changedTodos(
  tasks: ReadonlyMap<string, TodoItem>,
  call: Pick<AgentCall, 'name' | 'arguments'>,
  input: JsonObject,
  report: unknown,
): ReadonlyMap<string, TodoItem> | undefined {
  if (call.name === 'TodoWrite')
    return new Map(
      arrayOf(input.todos)
        .map(objectOf)
        .map(({ content, status }, at) => [
          `${at}`,
          { content: stringOf(content), status: statusFrom(status) },
        ]),
    );
  if (call.name === 'TaskCreate') {
    const id = stringOf(objectOf(objectOf(report).task).id);
    const item: TodoItem = { content: stringOf(input.subject), status: 'pending' };
    return id === '' ? undefined : new Map(tasks).set(id, item);
  }
  if (call.name !== 'TaskUpdate') return undefined;
  const id = stringOf(input.taskId);
  const before = tasks.get(id);
  if (before === undefined) return undefined;
  const changed = new Map(tasks);
  if (input.status === 'deleted') changed.delete(id);
  else
    changed.set(id, {
      content: stringOf(input.subject) || before.content,
      status: input.status === undefined ? before.status : statusFrom(input.status),
    });
  return changed;
}

function statusFrom(status: unknown): TodoItem['status'] {
  return status === 'in_progress' || status === 'completed' ? status : 'pending';
}
