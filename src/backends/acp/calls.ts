import { isAbsolute, relative, resolve } from 'node:path';
import {
  arrayOf,
  ellipsize,
  isObject,
  type JsonObject,
  numberOf,
  objectOf,
  stringOf,
} from '../../base/index.ts';
import type { Content } from '../../llm/index.ts';
import { type Access, TODO_STATUSES, type TodoItem, type ToolOutput } from '../../tools/index.ts';
import type { AgentCall } from '../agent-event.ts';

/** How an agent describes its calls, where it differs from others. */
export interface CallDialect {
  readonly cwd: string;
  /**
   * The title of an `execute` call is exactly its command. Otherwise only `rawInput.command` is: a title may be shortened, and a policy
   * that judged it would approve another command.
   */
  readonly commandInTitle: boolean;
}

/** The change of one file. Both texts are those of the file, or of the part that changes. */
export interface FileDiff {
  readonly path: string;
  /** Undefined for a new file. */
  readonly before: string | undefined;
  readonly after: string;
}

/** All that the agent has reported about a call so far. */
export interface CallFields {
  readonly callId: string;
  readonly name: string;
  readonly title: string;
  readonly kind: string;
  readonly input: JsonObject;
  readonly paths: readonly string[];
  readonly diffs: readonly FileDiff[];
  readonly content: readonly Content[];
  readonly rawOutput: unknown;
  /** The output of a command that runs in the agent, from `_meta.terminal_output`. */
  readonly printed: string;
  readonly exitCode: number | undefined;
}

/** Adds the fields of a `tool_call`, a `tool_call_update` or a permission request to what is known. Absent fields keep their value. */
export function mergeCall(before: CallFields | undefined, update: JsonObject): CallFields {
  const known = before ?? newCall(stringOf(update.toolCallId));
  const content = Array.isArray(update.content) ? update.content.map(objectOf) : undefined;
  const { _meta: extensions } = update;
  const meta = objectOf(extensions);
  const { data } = objectOf(meta.terminal_output ?? meta.terminal_output_delta);
  const exit = objectOf(meta.terminal_exit);
  return {
    callId: known.callId,
    name: known.name || nameOf(update, meta, known.callId),
    title: stringOf(update.title) || known.title,
    kind: stringOf(update.kind) || known.kind,
    input: isObject(update.rawInput) ? { ...known.input, ...update.rawInput } : known.input,
    paths:
      Array.isArray(update.locations) && update.locations.length > 0
        ? pathsOf(update.locations)
        : known.paths,
    diffs: content === undefined ? known.diffs : mergeDiffs(known.diffs, content.flatMap(diffOf)),
    content: content === undefined ? known.content : content.flatMap(contentOf),
    rawOutput: update.rawOutput ?? known.rawOutput,
    printed: truncateStart(known.printed + stringOf(data)),
    exitCode: numberOf(exit.exit_code) ?? known.exitCode,
  };
}

function newCall(callId: string): CallFields {
  return {
    callId,
    name: '',
    title: '',
    kind: '',
    input: {},
    paths: [],
    diffs: [],
    content: [],
    rawOutput: undefined,
    printed: '',
    exitCode: undefined,
  };
}

/**
 * The agent's name of the tool. The protocol has `name` since 2026; older agents put it elsewhere: the first title (opencode), the id
 * `run_shell_command__…` (Gemini), `_meta.claudeCode` (Claude).
 */
function nameOf(update: JsonObject, meta: JsonObject, callId: string): string {
  const title = stringOf(update.title);
  const stated = stringOf(update.name) || stringOf(objectOf(meta.claudeCode).toolName);
  if (stated !== '') return stated;
  const [, inId = ''] = /^([a-z]\w*?)__\1_\d+_\d+$/.exec(callId) ?? [];
  if (inId !== '') return inId;
  return /^[a-z][\w-]*$/i.test(title) ? title : '';
}

function pathsOf(locations: readonly unknown[]): readonly string[] {
  return locations.map((location) => stringOf(objectOf(location).path)).filter((path) => path !== '');
}

function diffOf(part: JsonObject): readonly FileDiff[] {
  const path = stringOf(part.path);
  if (part.type !== 'diff' || path === '' || typeof part.newText !== 'string') return [];
  return [{ path, before: typeof part.oldText === 'string' ? part.oldText : undefined, after: part.newText }];
}

/** An agent that showed the whole file before approval may report only the changed part afterwards. */
function mergeDiffs(known: readonly FileDiff[], next: readonly FileDiff[]): readonly FileDiff[] {
  if (next.length === 0) return known;
  return next.map(
    (diff) =>
      known.find(
        ({ path, before, after }) =>
          path === diff.path && (before ?? '').includes(diff.before ?? '') && after.includes(diff.after),
      ) ?? diff,
  );
}

function contentOf(part: JsonObject): readonly Content[] {
  return part.type === 'content' ? blockContent(part.content) : [];
}

/** The text or the image of a content block; a link or a resource as text. */
export function blockContent(value: unknown): readonly Content[] {
  const block = objectOf(value);
  switch (block.type) {
    case 'text':
      return [{ type: 'text', text: stringOf(block.text) }];
    case 'image':
      return [{ type: 'image', mediaType: stringOf(block.mimeType), data: stringOf(block.data) }];
    case 'resource_link':
      return [{ type: 'text', text: stringOf(block.uri) }];
    case 'resource':
      return [{ type: 'text', text: stringOf(objectOf(block.resource).text) }];
    default:
      return [];
  }
}

/** The call in our terms. */
export function describeCall(fields: CallFields, dialect: CallDialect): AgentCall {
  const tool = toolOf(fields);
  const access = accessOf(fields, tool, dialect);
  const command = access.find((one) => one.type === 'command');
  const path = filePath(fields, dialect.cwd);
  return {
    callId: fields.callId,
    name: fields.name || fields.kind || 'tool',
    arguments: JSON.stringify({
      ...(command !== undefined && { command: command.command }),
      ...fields.input,
      // The name under which user interfaces look for the file.
      ...(path !== undefined && FILE_TOOLS.has(tool ?? '') && { path: shortPath(path, dialect.cwd) }),
    }),
    title: titleOf(fields, tool, dialect),
    ...(tool !== undefined && { tool }),
    access,
  };
}

const FILE_TOOLS: ReadonlySet<string> = new Set(['read', 'edit', 'write']);

/** Our tool with the same effect. */
function toolOf({ kind, name, diffs, input }: CallFields): string | undefined {
  switch (kind) {
    case 'execute':
      return 'bash';
    case 'read':
      return 'read';
    case 'edit': {
      const isWhole = diffs.some(({ before }) => before === undefined) || typeof input.content === 'string';
      return isWhole || /write/i.test(name) ? 'write' : 'edit';
    }
    case 'search':
      return /glob|find/i.test(name) ? 'find' : /list|^ls$/i.test(name) ? 'ls' : 'grep';
    case 'fetch':
      return /search/i.test(name) ? 'web_search' : 'web_fetch';
    default:
      return undefined;
  }
}

const FOREIGN: readonly Access[] = [{ type: 'foreign', readOnly: false }];

/** What the call would touch. What is not known for certain is `foreign`: a person decides. */
function accessOf(fields: CallFields, tool: string | undefined, dialect: CallDialect): readonly Access[] {
  const { cwd } = dialect;
  const path = filePath(fields, cwd);
  switch (tool) {
    case 'bash':
      return commandAccess(fields, dialect);
    case 'read':
      return path === undefined
        ? FOREIGN
        : [...new Set([path, ...fields.paths])].map((one) => ({ type: 'read', path: resolve(cwd, one) }));
    case 'grep':
    case 'find':
    case 'ls':
      return [{ type: 'read', path: path ?? cwd }];
    case 'edit':
    case 'write':
      return editAccess(fields, cwd);
    case 'web_fetch': {
      const url = stringOf(fields.input.url);
      return URL.canParse(url) && new URL(url).hostname !== ''
        ? [{ type: 'web', host: new URL(url).hostname }]
        : FOREIGN;
    }
    default:
      // A file that is moved or removed is in the locations.
      return (fields.kind === 'delete' || fields.kind === 'move') && fields.paths.length > 0
        ? fields.paths.map((one) => ({ type: 'write', path: resolve(cwd, one) }))
        : FOREIGN;
  }
}

function commandAccess(fields: CallFields, { cwd, commandInTitle }: CallDialect): readonly Access[] {
  const { command } = fields.input;
  const stated = Array.isArray(command) ? unwrapShell(command.map(String)) : stringOf(command);
  const text = stated || (commandInTitle ? fields.title : '');
  const directory = commandInTitle
    ? directoryInContent(fields)
    : stringOf(fields.input.workdir ?? fields.input.cwd);
  return text === '' || directory === undefined
    ? FOREIGN
    : [{ type: 'command', command: text, cwd: directory === '' ? cwd : resolve(cwd, directory) }];
}

/** Gemini describes the directory of a command in the text `[in sub] (what it does)`. Undefined if it cannot be read. */
function directoryInContent({ content }: CallFields): string | undefined {
  const [first] = content;
  if (first?.type !== 'text') return '';
  if (first.text.startsWith('[current working directory ')) return '';
  const [, directory] = /^\[in ([^\]]+)\]/.exec(first.text) ?? [];
  return directory;
}

/** The command line of a program with arguments. For a shell with a script, the script. */
export function unwrapShell([program = '', ...args]: readonly string[]): string {
  const [option = '', script, ...rest] = args;
  if (
    /(?:^|\/)(?:ba|z|da)?sh$/.test(program) &&
    /^-l?c$/.test(option) &&
    script !== undefined &&
    rest.length === 0
  )
    return script;
  return [program, ...args].map(quoteWord).join(' ');
}

/** Quotes a word for a POSIX shell. */
export function quoteWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

function editAccess({ diffs, paths, input }: CallFields, cwd: string): readonly Access[] {
  const stated = inputPath(input);
  const all = [
    ...new Set(
      [...diffs.map((diff) => diff.path), ...paths, ...(stated === undefined ? [] : [stated])].map((one) =>
        resolve(cwd, one),
      ),
    ),
  ];
  if (all.length === 0) return FOREIGN;
  return all.map((path) => {
    const own = diffs.filter((diff) => resolve(cwd, diff.path) === path);
    return {
      type: 'write',
      path,
      ...(own.length > 0 && { after: (before: string | undefined) => applyDiffs(before, own) }),
    };
  });
}

/** The content of the file after the changes; undefined if they do not fit. */
function applyDiffs(content: string | undefined, diffs: readonly FileDiff[]): string | undefined {
  let text = content;
  for (const { before, after } of diffs) {
    if (before === undefined || before === '' || before === text) text = after;
    else {
      const at = text?.indexOf(before) ?? -1;
      if (text === undefined || at < 0 || text.includes(before, at + 1)) return undefined;
      text = text.slice(0, at) + after + text.slice(at + before.length);
    }
  }
  return text;
}

/** The file or directory that the call is about, absolute. */
function filePath({ input, paths, diffs }: CallFields, cwd: string): string | undefined {
  const path = inputPath(input) ?? diffs[0]?.path ?? paths[0];
  return path === undefined ? undefined : resolve(cwd, path);
}

function inputPath(input: JsonObject): string | undefined {
  return PATH_KEYS.map((key) => stringOf(input[key])).find((path) => path !== '' && !path.includes('\0'));
}

const PATH_KEYS = ['file_path', 'filePath', 'filepath', 'path', 'absolute_path', 'abs_path', 'dir_path'];

function titleOf(fields: CallFields, tool: string | undefined, dialect: CallDialect): string {
  const { cwd } = dialect;
  const path = filePath(fields, cwd);
  const command = commandAccess(fields, dialect)[0];
  if (tool === 'bash' && command?.type === 'command') return oneLine(command.command);
  if (path !== undefined && tool !== undefined && FILE_TOOLS.has(tool))
    return oneLine(`${tool} ${shortPath(path, cwd)}`);
  const pattern =
    stringOf(fields.input.pattern) || stringOf(fields.input.url) || stringOf(fields.input.query);
  if (tool !== undefined && pattern !== '') return oneLine(`${tool} ${pattern}`);
  return oneLine(fields.title || fields.name || fields.kind || 'tool');
}

/** The path relative to the working directory, if it is inside. */
export function shortPath(path: string, cwd: string): string {
  const short = relative(cwd, path);
  return short === '' ? '.' : short.startsWith('..') || isAbsolute(short) ? path : short;
}

/** One line for display. */
export function oneLine(text: string, maxLength = 120): string {
  return ellipsize(text.replaceAll(/[\s\p{Cc}]+/gu, ' ').trim(), maxLength - 1);
}

/** The result of a call. The diffs are added by `diffDetails`, which takes time. */
export function callOutput(
  fields: CallFields,
  end: 'completed' | 'failed' | 'cancelled',
  dialect: CallDialect,
): ToolOutput {
  const tool = toolOf(fields);
  const raw = objectOf(fields.rawOutput);
  const exitCode =
    fields.exitCode ??
    numberOf(objectOf(raw.metadata).exit) ??
    numberOf(raw.exitCode) ??
    numberOf(raw.exit_code);
  const isError = end !== 'completed' || (exitCode !== undefined && exitCode !== 0);
  const shown = fields.content.filter((part) => part.type !== 'text' || part.text !== '');
  const text = fields.printed || rawText(fields.rawOutput);
  const content: readonly Content[] =
    shown.length > 0 ? shown : [{ type: 'text', text: text || noOutput(fields, isError) }];
  const title = titleOf(fields, tool, dialect);
  const outcome =
    end === 'cancelled'
      ? 'cancelled'
      : isError
        ? exitCode === undefined
          ? 'failed'
          : `exit code ${exitCode}`
        : 'done';
  return {
    summary: `${oneLine(title, 80)}: ${outcome}`,
    content: content.map(limitSize),
    isError,
    ...(exitCode !== undefined && { details: { exitCode } }),
  };
}

function rawText(rawOutput: unknown): string {
  if (typeof rawOutput === 'string') return rawOutput;
  const { output, error, formatted_output: formatted } = objectOf(rawOutput);
  return stringOf(formatted) || stringOf(output) || stringOf(error);
}

function noOutput({ diffs }: CallFields, isError: boolean): string {
  if (isError) return 'The agent reported a failure without a reason.';
  return diffs.length > 0 ? 'The file was changed.' : '(the agent did not report the output)';
}

function limitSize(part: Content): Content {
  return part.type === 'text' ? { type: 'text', text: ellipsize(part.text, MAX_TEXT) } : part;
}

function truncateStart(text: string): string {
  return text.length <= MAX_TEXT ? text : text.slice(-MAX_TEXT);
}

const MAX_TEXT = 256 * 1024;

/** The text of the output so far; empty if there is none. */
export function outputSoFar({ content, printed }: CallFields): string {
  return printed || content.map((part) => (part.type === 'text' ? part.text : '')).join('');
}

/** The list that a tool for todos sets, for agents that send no plan; undefined for other tools. */
export function todosOf({ name, input }: CallFields): readonly TodoItem[] | undefined {
  return /^todo_?write$/i.test(name) && Array.isArray(input.todos) ? planItems(input.todos) : undefined;
}

/** The entries of a plan; a status that is not known counts as pending. */
export function planItems(entries: unknown): readonly TodoItem[] {
  return arrayOf(entries).flatMap((entry): readonly TodoItem[] => {
    const { content, status } = objectOf(entry);
    const text = oneLine(stringOf(content), 500);
    return text === '' || status === 'cancelled'
      ? []
      : [{ content: text, status: TODO_STATUSES.find((known) => known === status) ?? 'pending' }];
  });
}
