import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  arrayOf,
  ellipsize,
  type JsonObject,
  numberOf,
  objectOf,
  stringOf,
  withoutUndefined,
} from '../../base/index.ts';
import type { Content } from '../../llm/index.ts';
import type { Access, ModelUse, ToolOutput } from '../../tools/index.ts';
import type { AgentCall } from '../agent-event.ts';

/** Where pi runs: paths in calls are relative to `cwd`, and `~` stands for `home`. */
export interface PiDirectories {
  readonly cwd: string;
  readonly home: string;
}

export interface PiCall {
  readonly callId: string;
  readonly name: string;
  readonly input: JsonObject;
  /** Whether the tool is one of pi itself; an extension can replace a tool of the same name. */
  readonly isBuiltin: boolean;
}

/** Describes a call of pi as one of our own tools. */
export function toAgentCall(
  { callId, name, input, isBuiltin }: PiCall,
  directories: PiDirectories,
): AgentCall {
  const own = isBuiltin ? TOOLS[name]?.(input, directories) : undefined;
  const call = { callId, name, arguments: JSON.stringify(input) };
  if (own !== undefined) return { ...call, ...own, tool: name };
  return {
    ...call,
    title: oneLine(`${name} ${call.arguments}`),
    access: [{ type: 'foreign', readOnly: false }],
  };
}

type Described = Pick<AgentCall, 'title' | 'access'>;

/** pi's tools have the names and effects of ours. `powershell` has no counterpart. */
const TOOLS: Readonly<
  Record<string, (input: JsonObject, directories: PiDirectories) => Described | undefined>
> = {
  bash: ({ command }, { cwd }) =>
    typeof command === 'string'
      ? { title: oneLine(command), access: [{ type: 'command', command, cwd }] }
      : undefined,
  read: (input, directories) => ({
    title: oneLine(
      `read ${stringOf(input.path)}${rangeTitle(numberOf(input.offset), numberOf(input.limit))}`,
    ),
    access: readablePaths(stringOf(input.path), directories),
  }),
  write: ({ path, content }, directories) => ({
    title: oneLine(`write ${stringOf(path)}`),
    access: [
      { type: 'write', path: resolvePiPath(stringOf(path), directories), after: () => stringOf(content) },
    ],
  }),
  edit: ({ path, edits }, directories) => {
    const target = resolvePiPath(stringOf(path), directories);
    return {
      title: oneLine(`edit ${stringOf(path)}`),
      access: [
        { type: 'read', path: target },
        { type: 'write', path: target, after: (before) => editedText(before, arrayOf(edits)) },
      ],
    };
  },
  grep: ({ pattern, path, glob }, directories) => ({
    title: oneLine(
      `grep ${oneLine(stringOf(pattern), 60)}${path === undefined ? '' : ` in ${stringOf(path)}`}${glob === undefined ? '' : ` (${stringOf(glob)})`}`,
    ),
    // It also searches hidden files, which may contain secrets, and the policy judges only the directory.
    access: [
      { type: 'read', path: resolvePiPath(stringOf(path) || '.', directories) },
      { type: 'foreign', readOnly: true },
    ],
  }),
  find: ({ pattern, path }, directories) => ({
    title: oneLine(`find ${stringOf(pattern)}${path === undefined ? '' : ` in ${stringOf(path)}`}`),
    access: [{ type: 'read', path: resolvePiPath(stringOf(path) || '.', directories) }],
  }),
  ls: ({ path }, directories) => ({
    title: oneLine(`ls ${stringOf(path) || '.'}`),
    access: [{ type: 'read', path: resolvePiPath(stringOf(path) || '.', directories) }],
  }),
};

function rangeTitle(offset: number | undefined, limit: number | undefined): string {
  if (offset === undefined && limit === undefined) return '';
  const first = Math.max(1, offset ?? 1);
  return limit === undefined ? `:${first}-` : `:${first}-${first + limit - 1}`;
}

/** The path that pi uses for a path argument. Another result than pi's own would let the policy judge another file. */
export function resolvePiPath(argument: string, { cwd, home }: PiDirectories): string {
  const path = argument.replaceAll(UNICODE_SPACES, ' ').replace(/^@/, '');
  if (path === '~') return home;
  if (path.startsWith('~/')) return join(home, path.slice(2));
  return resolve(cwd, path.startsWith('file://') ? pathOfUrl(path) : path);
}

function pathOfUrl(url: string): string {
  try {
    return fileURLToPath(url);
  } catch {
    // pi refuses it as well.
    return url;
  }
}

const UNICODE_SPACES = /[\u00A0\u2000-\u200A\u202F\u205F\u3000]/g;

/** If a file does not exist, pi reads one of a similar name, as macOS writes it. It may be a link to any other file. */
function readablePaths(argument: string, directories: PiDirectories): readonly Access[] {
  const path = resolvePiPath(argument, directories);
  const decomposed = path.normalize('NFD');
  const similar = [path.replaceAll(/ (AM|PM)\./gi, '\u202F$1.'), decomposed];
  const quoted = [path, decomposed].map((name) => name.replaceAll("'", '\u2019'));
  return [...new Set([path, ...similar, ...quoted])].map((name) => ({ type: 'read', path: name }));
}

/** The content after the edits; undefined if an edit does not match exactly once, because pi then also accepts similar text. */
function editedText(before: string | undefined, edits: readonly unknown[]): string | undefined {
  if (before === undefined) return undefined;
  const text = toLf(before);
  const replacements = edits.map((edit) => {
    const { oldText, newText } = objectOf(edit);
    const old = toLf(stringOf(oldText));
    const start = old === '' ? -1 : text.indexOf(old);
    const isUnique = start >= 0 && !text.includes(old, start + 1);
    return { start: isUnique ? start : -1, end: start + old.length, now: toLf(stringOf(newText)) };
  });
  const sorted = replacements.toSorted((a, b) => a.start - b.start);
  const isApart = sorted.every(({ start }, index) => start >= (sorted[index - 1]?.end ?? 0));
  if (!isApart) return undefined;
  const edited = sorted.reduceRight(
    (current, { start, end, now }) => current.slice(0, start) + now + current.slice(end),
    text,
  );
  return before.indexOf('\r\n') >= 0 && before.indexOf('\r\n') < before.indexOf('\n')
    ? edited.replaceAll('\n', '\r\n')
    : edited;
}

function toLf(text: string): string {
  return text.replaceAll(/\r\n?/g, '\n');
}

/** The result of a call that has run or that could not run. */
export function toToolOutput(call: AgentCall, result: JsonObject, isError: boolean): ToolOutput {
  const content = contentOf(result.content);
  const text = textOf(content);
  const used = usedBy(objectOf(result.usage));
  const details = objectOf(result.details);
  const own = call.tool === undefined ? undefined : RESULTS[call.tool]?.({ call, text, details, isError });
  const summary = own?.summary ?? (isError ? firstLine(text) : oneLine(`${call.title}: done`));
  return { summary, content, isError, ...withoutUndefined({ details: own?.details, used }) };
}

interface PiResult {
  readonly call: AgentCall;
  readonly text: string;
  readonly details: JsonObject;
  readonly isError: boolean;
}

interface DescribedResult {
  readonly summary: string;
  readonly details?: JsonObject;
}

const RESULTS: Readonly<Record<string, (result: PiResult) => DescribedResult | undefined>> = {
  bash: shellResult,
  edit: ({ call, details, isError }) => {
    const patch = stringOf(details.patch);
    if (isError || patch === '') return undefined;
    const { path, edits } = argumentsOf(call);
    const diff = diffDetails(withPrefixes(patch));
    const replaced = arrayOf(edits).length;
    const count = `${replaced} ${replaced === 1 ? 'replacement' : 'replacements'}`;
    return {
      summary: oneLine(`Edited ${stringOf(path)}: ${count}, +${diff.added} -${diff.removed}`),
      details: { ...diff, replaced },
    };
  },
  write: ({ call, isError }) =>
    isError ? undefined : { summary: oneLine(`Wrote ${stringOf(argumentsOf(call).path)}`) },
};

/** pi reports how a command ended in the last line of the text only. */
function shellResult({ call, text, details, isError }: PiResult): DescribedResult | undefined {
  const [, end = '', code] =
    /(?:^|\n\n)(Command (?:exited with code (\d+)|timed out after [^\n]+|aborted|terminated [^\n]+))$/.exec(
      text,
    ) ?? [];
  // It did not run.
  if (isError && end === '') return undefined;
  const printed = text.slice(0, text.length - end.length).replace(/\n\n$/, end === '' ? '\n\n' : '');
  const note = printed === '(no output)' ? '' : printed.replace(/\n\n\[Showing [^\n]+\]$/, '');
  const outputFile = stringOf(details.fullOutputPath);
  const outputBytes = numberOf(objectOf(details.truncation).totalBytes);
  const outcome = code === undefined ? lowerFirst(end) : `exit code ${code}`;
  return {
    summary: oneLine(`${oneLine(stringOf(argumentsOf(call).command), 80)}: ${isError ? outcome : 'done'}`),
    details: {
      exitCode: isError ? (code === undefined ? null : Number(code)) : 0,
      endedBy: end.startsWith('Command timed out')
        ? 'timeout'
        : end === 'Command aborted'
          ? 'cancel'
          : 'itself',
      printedLength: note.length,
      trimmed: '',
      ...(outputFile === '' ? {} : { outputFile }),
      ...withoutUndefined({ outputBytes }),
    },
  };
}

/** Details of a change of a file, as our own tools report them: `diff` has two lines of head. A very long diff is cut at a line. */
export function diffDetails(diff: string): {
  readonly diff: string;
  readonly diffCut?: true;
  readonly added: number;
  readonly removed: number;
} {
  const lines = diff.split('\n').slice(2);
  const added = lines.filter((line) => line.startsWith('+')).length;
  const removed = lines.filter((line) => line.startsWith('-')).length;
  if (diff.length <= MAX_DIFF) return { diff, added, removed };
  return { diff: diff.slice(0, diff.lastIndexOf('\n', MAX_DIFF - 1) + 1), diffCut: true, added, removed };
}

/** pi writes the bare path in the head of a diff. */
function withPrefixes(patch: string): string {
  return patch.replace(/^--- /, '--- a/').replace(/^\+\+\+ /m, '+++ b/');
}

export function argumentsOf(call: Pick<AgentCall, 'arguments'>): JsonObject {
  return objectOf(JSON.parse(call.arguments));
}

/** The content of a message or a result. */
export function contentOf(value: unknown): readonly Content[] {
  if (typeof value === 'string') return [{ type: 'text', text: value }];
  return arrayOf(value).flatMap((part): readonly Content[] => {
    const { type, text, data, mimeType } = objectOf(part);
    if (type === 'text' && typeof text === 'string') return [{ type, text }];
    if (type !== 'image' || typeof data !== 'string') return [];
    return [{ type, mediaType: stringOf(mimeType), data }];
  });
}

export function textOf(content: readonly Content[]): string {
  return content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');
}

/** The models that a tool has used itself. */
function usedBy({ input, output, cacheRead, cacheWrite, cost }: JsonObject): ModelUse | undefined {
  if (numberOf(input) === undefined || numberOf(output) === undefined) return undefined;
  const [read, written] = [numberOf(cacheRead) ?? 0, numberOf(cacheWrite) ?? 0];
  return {
    inputTokens: (numberOf(input) ?? 0) + read + written,
    outputTokens: numberOf(output) ?? 0,
    cacheReadInputTokens: read,
    cacheCreationInputTokens: written,
    ...withoutUndefined({ cost: numberOf(objectOf(cost).total) }),
  };
}

function firstLine(text: string): string {
  return oneLine(text.trimStart().split('\n')[0] ?? '') || 'failed';
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}

/** A text in one line, without characters that would move the cursor of a terminal. */
export function oneLine(text: string, maxLength = 120): string {
  return ellipsize(text.replaceAll(/[\p{Cc}\s]+/gu, ' ').trim(), maxLength);
}

const MAX_DIFF = 100_000;
