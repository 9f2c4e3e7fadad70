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
import { errorOutput, textOutput, type ToolOutput } from '../../tools/index.ts';
import type { CallStatus } from '../../worker/index.ts';
import type { AgentCall } from '../agent-event.ts';
import {
  changeAccess,
  changeArguments,
  changeTitle,
  type FileChange,
  fileChanges,
  unifiedDiff,
} from './patch.ts';
import { scriptOf } from './shell-words.ts';

export interface CallEnd {
  readonly status: CallStatus;
  readonly output: ToolOutput;
}

/** Converts an item to the call that it is about; undefined for an item that is not a call. */
export function callOf(item: JsonObject, cwd: string): AgentCall | undefined {
  const callId = stringOf(item.id);
  switch (item.type) {
    case 'commandExecution':
      return commandCall(callId, stringOf(item.command), stringOf(item.cwd) || cwd, cwd);
    case 'fileChange':
      return changeCall(callId, fileChanges(item.changes, cwd), cwd);
    case 'mcpToolCall':
      return mcpCall(callId, item);
    case 'collabAgentToolCall':
      return collabCall(callId, item);
    case 'webSearch':
      return harmlessCall(callId, 'web_search', `web search: ${stringOf(item.query)}`, { query: item.query });
    case 'imageView':
      return {
        ...harmlessCall(callId, 'view_image', `read ${stringOf(item.path)}`, { path: item.path }),
        tool: 'read',
        access: [{ type: 'read', path: stringOf(item.path) }],
      };
    case 'imageGeneration':
      return harmlessCall(callId, 'image_generation', 'generate an image', {});
    case 'dynamicToolCall':
      return foreignCall(callId, stringOf(item.tool), item.arguments);
    default:
      return undefined;
  }
}

/** A command that Codex runs in a shell. */
export function commandCall(callId: string, line: string, workdir: string, cwd: string): AgentCall {
  const command = scriptOf(line);
  const args = workdir === cwd ? { command } : { command, cwd: workdir };
  return {
    callId,
    name: 'exec_command',
    arguments: JSON.stringify(args),
    title: oneLine(command),
    tool: 'bash',
    access: [{ type: 'command', command, cwd: workdir }],
  };
}

/** Input for a command that is running. */
export function inputCall(callId: string, line: string): AgentCall {
  const about = line === '' ? 'a running command' : scriptOf(line);
  return foreignCall(callId, 'write_stdin', { command: about }, `send input to ${about}`);
}

function changeCall(callId: string, changes: readonly FileChange[], cwd: string): AgentCall {
  return {
    callId,
    name: 'apply_patch',
    arguments: JSON.stringify(changeArguments(changes, cwd)),
    title: oneLine(changeTitle(changes, cwd)),
    tool: changes.length > 0 && changes.every(({ kind }) => kind === 'add') ? 'write' : 'edit',
    access: changes.length === 0 ? [{ type: 'foreign', readOnly: false }] : changeAccess(changes),
  };
}

/** A call of an MCP server's tool, named as our own calls of such tools are. */
function mcpCall(callId: string, item: JsonObject): AgentCall {
  const server = stringOf(item.server);
  const tool = stringOf(item.tool);
  const name = `mcp__${nameOf(server)}__${nameOf(tool)}`;
  const args = objectOf(item.arguments);
  const shown = Object.keys(args).length === 0 ? '' : ` ${JSON.stringify(args)}`;
  return {
    ...foreignCall(callId, name, args, `${server}: ${tool}${shown}`),
    access: [{ type: 'foreign', readOnly: item.readOnlyHint === true }],
  };
}

/** A call that starts, asks or ends a sub-agent. Calls of the sub-agent ask for themselves. */
function collabCall(callId: string, item: JsonObject): AgentCall {
  const tool = stringOf(item.tool) || 'agent';
  const prompt = stringOf(item.prompt);
  return harmlessCall(callId, tool, `${COLLAB_TITLES[tool] ?? tool}${prompt === '' ? '' : `: ${prompt}`}`, {
    ...(prompt === '' ? {} : { prompt }),
    ...(arrayOf(item.receiverThreadIds).length === 0 ? {} : { agents: item.receiverThreadIds }),
  });
}

const COLLAB_TITLES: Readonly<Record<string, string>> = {
  spawnAgent: 'sub-agent',
  sendInput: 'message to sub-agent',
  resumeAgent: 'resume sub-agent',
  wait: 'wait for sub-agent',
  closeAgent: 'close sub-agent',
};

function harmlessCall(callId: string, name: string, title: string, args: JsonObject): AgentCall {
  return { ...foreignCall(callId, name, args, title), access: [{ type: 'foreign', readOnly: true }] };
}

/** A call of which only the name is known. */
export function foreignCall(callId: string, name: string, args: unknown, title = name): AgentCall {
  return {
    callId,
    name,
    arguments: JSON.stringify(isObject(args) ? args : { value: args }),
    title: oneLine(title),
    access: [{ type: 'foreign', readOnly: false }],
  };
}

/** Converts an item that is complete to the result of its call. */
export function callEnd(item: JsonObject, cwd: string): CallEnd {
  const isRejected = objectOf(item.error).message === REJECTED;
  if (item.status === 'declined' || isRejected) return { status: 'denied', output: errorOutput(DECLINED) };
  switch (item.type) {
    case 'commandExecution':
      return ended(commandOutput(item));
    case 'fileChange':
      return ended(changeOutput(item, cwd));
    case 'mcpToolCall':
      return ended(mcpOutput(item));
    case 'collabAgentToolCall':
      return ended(collabOutput(item));
    default:
      return ended(
        item.status === 'failed' || item.success === false
          ? errorOutput('The call failed.')
          : textOutput('done', contentTextOf(item.contentItems) || 'done'),
      );
  }
}

function ended(output: ToolOutput): CallEnd {
  return { status: output.isError ? 'failed' : 'done', output };
}

/** The result of a command that still runs when the model continues. */
export function backgroundEnd({ title }: AgentCall): CallEnd {
  const text = 'The command is still running in the background. Codex reads its output itself.';
  return { status: 'done', output: textOutput(`${title}: still running`, text) };
}

export const INTERRUPTED: CallEnd = {
  status: 'interrupted',
  output: errorOutput('The call was interrupted.'),
};

/** The error of an MCP call that was not allowed: it has no status of its own. */
const REJECTED = 'user rejected MCP tool call';
const DECLINED = 'The call was not allowed, so it was not run.';

function commandOutput(item: JsonObject): ToolOutput {
  const title = ellipsize(oneLine(scriptOf(stringOf(item.command))), 80);
  const all = stringOf(item.aggregatedOutput);
  const printed = all.trimEnd();
  const exitCode = numberOf(item.exitCode) ?? null;
  const durationMs = numberOf(item.durationMs) || undefined;
  const isError = item.status === 'failed' || (exitCode !== null && exitCode !== 0);
  const outcome = exitCode === null ? 'it did not run' : `exit code ${exitCode}`;
  return {
    summary: `${title}: ${isError ? outcome : 'done'}`,
    content: [
      { type: 'text', text: [printed || '(no output)', ...(isError ? [`[${outcome}]`] : [])].join('\n') },
    ],
    isError,
    details: {
      exitCode,
      signal: null,
      endedBy: 'itself',
      ...(durationMs === undefined ? {} : { durationMs }),
      outputBytes: Buffer.byteLength(all),
      printedLength: printed.length,
      trimmed: all.slice(printed.length),
    },
  };
}

function changeOutput(item: JsonObject, cwd: string): ToolOutput {
  const changes = fileChanges(item.changes, cwd);
  const { text: diff, added, removed } = unifiedDiff(changes, cwd);
  const title = changeTitle(changes, cwd);
  if (item.status !== 'completed') return errorOutput(`${title}: the patch could not be applied.`);
  const summary = `${title}: +${added} -${removed}`;
  const created = changes.every(({ kind }) => kind === 'add');
  // A client that needs the path of a diff shows the text of a patch for several files.
  const text = changes.length === 1 ? `${summary}.` : `${summary}.\n\n${diff}`;
  const cut = diff.length <= MAX_DIFF ? {} : { diffCut: true };
  const shown = diff.length <= MAX_DIFF ? diff : diff.slice(0, diff.lastIndexOf('\n', MAX_DIFF - 1) + 1);
  return textOutput(summary, text, { diff: shown, ...cut, added, removed, created });
}

const MAX_DIFF = 100_000;

function mcpOutput(item: JsonObject): ToolOutput {
  const { content, structuredContent } = objectOf(item.result);
  const failure = stringOf(objectOf(item.error).message);
  const parts = arrayOf(content).flatMap(contentOf);
  const isError = item.status === 'failed' || failure !== '';
  const [first] = parts.flatMap((part) => (part.type === 'text' ? [part.text] : []));
  const text =
    failure || (first ?? (isObject(structuredContent) ? JSON.stringify(structuredContent) : 'done'));
  return {
    summary: oneLine(text),
    content: parts.length > 0 && failure === '' ? parts : [{ type: 'text', text }],
    isError,
  };
}

function contentOf(part: unknown): readonly Content[] {
  const { type, text, data, mimeType, image_url: imageUrl } = objectOf(part);
  if (typeof text === 'string') return [{ type: 'text', text }];
  if (type === 'image' && typeof data === 'string')
    return [{ type: 'image', mediaType: stringOf(mimeType) || 'image/png', data }];
  return isObject(part) ? [{ type: 'text', text: stringOf(imageUrl) || JSON.stringify(part) }] : [];
}

function contentTextOf(items: unknown): string {
  return arrayOf(items)
    .map((item) => stringOf(objectOf(item).text))
    .join('\n');
}

function collabOutput(item: JsonObject): ToolOutput {
  const states = Object.values(objectOf(item.agentsStates)).map(objectOf);
  const text = states
    .map(
      ({ status, message }) => stringOf(message) || (status === 'pendingInit' ? 'started' : stringOf(status)),
    )
    .filter((line) => line !== '')
    .join('\n\n');
  if (item.status === 'failed') return errorOutput(text || 'The sub-agent could not be reached.');
  return textOutput(oneLine(text) || 'done', text || 'done');
}

/** The letters of a name that both Codex and our own calls use. */
function nameOf(text: string): string {
  return text.replaceAll(/[^\w-]/g, '_');
}

function oneLine(text: string): string {
  // Control characters would move the cursor of a terminal.
  // oxlint-disable-next-line no-control-regex
  return ellipsize(text.replaceAll(/[\s\u0000-\u001f\u007f-\u009f]+/g, ' ').trim(), MAX_TITLE);
}

const MAX_TITLE = 119;
