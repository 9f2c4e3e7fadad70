import { relative, resolve } from 'node:path';
import {
  compileNameGlob,
  type JsonObject,
  numberOf,
  objectOf,
  parseObject,
  stringOf,
} from '../../base/index.ts';
import { type Access, applyEdits, formatCount, oneLine } from '../../tools/index.ts';
import type { AgentCall } from '../agent-event.ts';

/** The directories that paths of a call are relative to. */
export interface CallPaths {
  readonly cwd: string;
  /** Claude Code expands `~`. */
  readonly home: string;
}

/** A call as Claude Code reports it. */
export interface ClaudeCall {
  readonly callId: string;
  readonly name: string;
  readonly input: JsonObject;
}

type CallFacts = Pick<AgentCall, 'title' | 'access' | 'tool'>;
type Describe = (input: JsonObject, paths: CallPaths) => CallFacts;

/** Translates a call of a tool of Claude Code. */
export function agentCall({ callId, name, input }: ClaudeCall, paths: CallPaths): AgentCall {
  return {
    callId,
    name,
    arguments: JSON.stringify(withPath(name, input)),
    ...(TOOLS.get(name) ?? otherTool(name))(input, paths),
  };
}

/** The input for Claude Code from arguments that a person changed; undefined if they are not an object. */
export function inputFrom(name: string, text: string): JsonObject | undefined {
  const changed = parseObject(text);
  const key = PATH_KEYS.get(name);
  if (changed === undefined || key === undefined || changed.path === undefined) return changed;
  const { path, ...rest } = changed;
  return { ...rest, [key]: path };
}

/** Our tools name the file of a call `path`, and so do the doors that show it. */
function withPath(name: string, input: JsonObject): JsonObject {
  const key = PATH_KEYS.get(name);
  if (key === undefined || input[key] === undefined || input.path !== undefined) return input;
  const { [key]: path, ...rest } = input;
  return { path, ...rest };
}

const PATH_KEYS: ReadonlyMap<string, string> = new Map([
  ['Read', 'file_path'],
  ['Write', 'file_path'],
  ['Edit', 'file_path'],
  ['MultiEdit', 'file_path'],
  ['NotebookEdit', 'notebook_path'],
]);

const bash: Describe = ({ command, run_in_background: background }, { cwd }) => {
  const text = stringOf(command);
  return {
    tool: 'bash',
    title: background === true ? `${oneLine(text, 100)} (background)` : oneLine(text),
    // Claude Code starts every command in the working directory: see `launchEnv`.
    access: [{ type: 'command', command: text, cwd }],
  };
};

const read: Describe = ({ file_path: file, offset, limit }, paths) => {
  const path = absolute(file, paths);
  const first = numberOf(offset);
  const count = numberOf(limit);
  const start = Math.max(1, first ?? 1);
  const range =
    first === undefined && count === undefined
      ? ''
      : count === undefined
        ? `:${start}-`
        : `:${start}-${start + count - 1}`;
  return {
    tool: 'read',
    title: oneLine(`read ${shown(path, paths)}${range}`),
    access: [{ type: 'read', path }],
  };
};

const write: Describe = ({ file_path: file, content }, paths) => {
  const path = absolute(file, paths);
  return {
    tool: 'write',
    title: oneLine(`write ${shown(path, paths)}`),
    access: [{ type: 'write', path, after: () => stringOf(content) }],
  };
};

const edit: Describe = (input, paths) => {
  const path = absolute(input.file_path, paths);
  const list = Array.isArray(input.edits) ? input.edits : [input];
  const edits = list.map(objectOf).map((one) => ({
    old: stringOf(one.old_string),
    new: stringOf(one.new_string),
    all: one.replace_all === true,
  }));
  return {
    tool: 'edit',
    title: oneLine(`edit ${shown(path, paths)}`),
    access: [
      { type: 'read', path },
      { type: 'write', path, after: (before) => editedText(before, edits) },
    ],
  };
};

/** Claude Code creates a file if the old text is empty. Undefined if the edits do not match. */
function editedText(
  before: string | undefined,
  edits: readonly { readonly old: string; readonly new: string; readonly all: boolean }[],
): string | undefined {
  const [first] = edits;
  if (edits.length === 1 && first?.old === '') return first.new;
  if (before === undefined) return undefined;
  const result = applyEdits(before, edits);
  return result.type === 'done' ? result.text : undefined;
}

const notebook: Describe = ({ notebook_path: file }, paths) => {
  const path = absolute(file, paths);
  return {
    tool: 'edit',
    title: oneLine(`edit ${shown(path, paths)}`),
    access: [
      { type: 'read', path },
      { type: 'write', path },
    ],
  };
};

const search =
  (tool: 'grep' | 'find'): Describe =>
  ({ pattern, path, glob }, paths) => {
    const text = stringOf(pattern);
    const root = stringOf(path);
    const name = tool === 'grep' ? oneLine(text, 60) : text;
    const files = stringOf(glob);
    return {
      tool,
      title: oneLine(
        `${tool} ${name}${root === '' ? '' : ` in ${shown(absolute(root, paths), paths)}`}${files === '' ? '' : ` (${files})`}`,
      ),
      // The patterns for files may be absolute, or lead out of the directory.
      access: [root, ...[tool === 'find' ? text : '', files].map((one) => joined(root, fixedPart(one)))]
        .filter((one, at, all) => all.indexOf(one) === at)
        .map((one) => ({ type: 'read', path: absolute(one, paths) })),
    };
  };

/** The directory of a glob that contains no wildcards. */
function fixedPart(glob: string): string {
  const parts = glob.replace(/^!/, '').split('/');
  const wild = parts.findIndex((part) => /[*?[{]/.test(part));
  return (
    (wild === -1 ? parts.slice(0, -1) : parts.slice(0, wild)).join('/') || (glob.startsWith('/') ? '/' : '')
  );
}

function joined(root: string, path: string): string {
  return root === '' || path.startsWith('/') || path.startsWith('~')
    ? path
    : path === ''
      ? root
      : `${root}/${path}`;
}

const webFetch: Describe = ({ url }) => {
  const address = stringOf(url);
  const host = URL.canParse(address) ? new URL(address).hostname.toLowerCase() : 'unknown';
  return { tool: 'web_fetch', title: oneLine(`fetch ${address}`), access: [{ type: 'web', host }] };
};

/** The provider of the model searches. */
const webSearch: Describe = ({ query }) => ({
  tool: 'web_search',
  title: `search the web for ${oneLine(stringOf(query))}`,
  access: [{ type: 'web', host: 'api.anthropic.com' }],
});

const todo: Describe = ({ todos }, paths) => ({
  tool: 'todo',
  title: `todo: ${formatCount(Array.isArray(todos) ? todos.length : 1, 'step')}`,
  access: [noEffect(paths)],
});

const task: Describe = ({ subject, taskId }, paths) => ({
  tool: 'todo',
  title: oneLine(`todo: ${stringOf(subject) || `step ${stringOf(taskId)}`}`),
  access: [noEffect(paths)],
});

/** Each call of the sub-agent asks for permission itself. */
const subAgent: Describe = ({ description, subagent_type: type }, paths) => ({
  title: oneLine(`agent ${stringOf(type)}: ${stringOf(description)}`.replace('agent :', 'agent:')),
  access: [noEffect(paths)],
});

const withoutEffect =
  (label: string, key?: string): Describe =>
  (input, paths) => ({
    title: oneLine(key === undefined ? label : `${label} ${stringOf(input[key])}`),
    access: [noEffect(paths)],
  });

/**
 * A tool that changes nothing outside the conversation. It is described as a read of the project, which every mode allows, so
 * that a rule for its name still applies.
 */
function noEffect({ cwd }: CallPaths): Access {
  return { type: 'read', path: cwd };
}

const otherTool =
  (name: string): Describe =>
  (input) => {
    const about = ABOUT.map((key) => stringOf(input[key])).find((text) => text !== '');
    return {
      title: oneLine(about === undefined ? name : `${name} ${about}`),
      access: [{ type: 'foreign', readOnly: false }],
    };
  };

const ABOUT = ['command', 'path', 'file_path', 'pattern', 'url', 'query', 'name', 'description', 'prompt'];

const TOOLS: ReadonlyMap<string, Describe> = new Map([
  ['Bash', bash],
  ['Monitor', bash],
  ['Read', read],
  ['Write', write],
  ['Edit', edit],
  ['MultiEdit', edit],
  ['NotebookEdit', notebook],
  ['Grep', search('grep')],
  ['Glob', search('find')],
  ['WebFetch', webFetch],
  ['WebSearch', webSearch],
  ['TodoWrite', todo],
  ['TaskCreate', task],
  ['TaskUpdate', task],
  ['TaskGet', task],
  ['TaskList', withoutEffect('list the steps')],
  ['Agent', subAgent],
  ['Task', subAgent],
  ['AskUserQuestion', withoutEffect('ask the user')],
  ['EnterPlanMode', withoutEffect('enter plan mode')],
  ['ToolSearch', withoutEffect('find tools', 'query')],
  ['Skill', withoutEffect('skill', 'skill')],
  ['ListAgents', withoutEffect('list agents')],
  ['ReportFindings', withoutEffect('report findings')],
  ['CronList', withoutEffect('list scheduled prompts')],
  ['TaskOutput', withoutEffect('read the output of', 'task_id')],
  ['TaskStop', withoutEffect('stop', 'task_id')],
]);

/** The names of Claude Code's tools that one of our names, a name of its own, or a glob for either stands for. */
export function claudeToolNames(glob: string): readonly string[] {
  const matches = compileNameGlob(glob);
  if (matches === undefined) return [...TOOLS.keys()];
  const nowhere = { cwd: '/', home: '/' };
  const found = [...TOOLS].flatMap(([name, describe]) => {
    const { tool } = describe({}, nowhere);
    return matches(name) || (tool !== undefined && matches(tool)) ? [name] : [];
  });
  // Claude Code's name for all tools of an MCP server.
  return found.length === 0 ? [glob.replace(/^(mcp__.+)__\*$/, '$1')] : found;
}

function absolute(path: unknown, { cwd, home }: CallPaths): string {
  const text = stringOf(path);
  return text === '~' || text.startsWith('~/') ? resolve(home, text.slice(2)) : resolve(cwd, text);
}

/** Relative to the working directory if it is inside. */
function shown(path: string, { cwd }: CallPaths): string {
  const short = relative(cwd, path);
  return short === '' || short.startsWith('..') ? path : short;
}
