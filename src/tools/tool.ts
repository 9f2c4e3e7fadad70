import { type JsonObject, type shape, withoutUndefined } from '../base/index.ts';
import type { Content } from '../llm/index.ts';
import type { ClientFiles, RunInTerminal } from './client-services.ts';
import type { BackgroundCommands, BackgroundLimits } from './process/background-commands.ts';
import type { RecordFileWrite } from './file-version.ts';
import type { CommandEntry, CommandRecord } from './process/command-ledger.ts';
import type { CommandLimiter } from './process/command-limits.ts';
import type { Isolation } from './process/isolation.ts';

/** A tool that an agent can call. */
export interface Tool {
  readonly name: string;
  /** For the model: what it does and when to use it. */
  readonly description: string;
  /** JSON Schema of the arguments, derived from the shape that parses them. */
  readonly parameters: JsonObject;
  /** Whether a call may run in parallel with others; false if it changes anything. */
  readonly parallel: boolean;
  /** Parses a call's arguments without side effects: the policy judges what the call would touch. */
  readonly prepare: (input: unknown, cwd: string) => PreparedCall | InvalidCall;
}

/** A call that can be run. */
export interface PreparedCall {
  readonly access: readonly Access[];
  /** One line for display: `read src/a.ts:1-40`, `npm test`. */
  readonly title: string;
  /** Rejects only for bugs; other failures are an output with `isError`. Ends soon after the signal. */
  readonly run: (around: ToolContext, signal: AbortSignal) => Promise<ToolOutput>;
}

/** A call with invalid arguments; the message is for the model. */
export interface InvalidCall {
  readonly invalid: string;
}

/** What a call would touch: all that the policy needs to know. Paths are absolute, not yet resolved. */
export type Access =
  | { readonly type: 'read'; readonly path: string }
  | {
      readonly type: 'write';
      readonly path: string;
      /** The content after the write, given the content before; undefined if unknown. */
      readonly after?: (before: string | undefined) => string | undefined;
    }
  | { readonly type: 'command'; readonly command: string; readonly cwd: string }
  /** A request to a web server, whose host name is in lower case. */
  | { readonly type: 'web'; readonly host: string }
  /** Known by name only: a tool of an MCP server or of a client. */
  | { readonly type: 'foreign'; readonly readOnly: boolean };

/** Everything that a running call may use. */
export interface ToolContext {
  /** The id of the call in the conversation. */
  readonly callId: string;
  readonly cwd: string;
  /** The environment for programs: without keys, unless the user passes them. */
  readonly env: Readonly<Record<string, string>>;
  /** A directory of ours for full outputs of which the model gets only a part. */
  readonly scratch: string;
  /**
   * Resolves a path of the call, judged again at the moment of use because a link may have changed. Rejects
   * with `denied`. `after` is the new content of the file.
   */
  readonly resolve: (path: string, access: 'read' | 'write', after?: string) => Promise<string>;
  /** Set if programs must run in a sandbox. */
  readonly sandbox: Sandbox | undefined;
  /** Runs programs outside the sandbox in their own process namespace; undefined if the user turned it off. */
  readonly isolation?: Isolation | undefined;
  /** Limits what programs use; undefined for a user's own commands. */
  readonly limiter?: CommandLimiter | undefined;
  /** Records a command that runs for this call, so that it can be ended if this process is killed. */
  readonly record?: ((entry: Pick<CommandRecord, 'mark' | 'command' | 'pipes'>) => CommandEntry) | undefined;
  /** The session's background commands; undefined if it has none. */
  readonly background?:
    | { readonly commands: BackgroundCommands; readonly limits: BackgroundLimits }
    | undefined;
  /** Saves the previous version of a file that the call changes, so that the change can be undone. */
  readonly recordFileWrite?: RecordFileWrite | undefined;
  /** The files of a connected editor, which may have unsaved changes. */
  readonly clientFiles?: ClientFiles | undefined;
  /** Runs commands in a terminal of a connected editor, if the user wants that; not in the sandbox. */
  readonly runInTerminal?: RunInTerminal | undefined;
  /** Whether a user, or a rule for this exact call, has allowed it; absent if it needed no permission. */
  readonly approved?: boolean;
  /**
   * Set if nobody approved the programs of the call: they run because they only read. Prepares a run in which
   * they can do nothing else. Rejects with `denied` if they no longer only read.
   */
  readonly prepareReadOnly?:
    | ((own: Pick<ToolContext, 'env' | 'scratch'>) => Promise<ReadOnlyRun>)
    | undefined;
  /** Reports the result so far, for display. */
  readonly update: (text: string) => void;
}

/** The part of the context that the caller of the worker provides. */
export type HostToolContext = Omit<
  ToolContext,
  'callId' | 'cwd' | 'resolve' | 'prepareReadOnly' | 'update' | 'approved'
>;

/** A shell for a command that nobody approved. */
export interface ReadOnlyRun {
  readonly program: string;
  readonly args: (command: string) => readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Removes the files created for it. */
  readonly close: () => Promise<void>;
}

/** Runs programs in a sandbox. */
export interface Sandbox {
  /** Prepares one command. Rejects with `denied` if the workspace cannot be protected. */
  readonly prepare: (request: SandboxRequest) => Promise<SandboxedCommand>;
}

export interface SandboxRequest {
  readonly program: string;
  readonly args: readonly string[];
  /** The command as written, for a shell. */
  readonly text: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** A user, or a rule for this exact command, has allowed it: it may change repositories and start-up files. */
  readonly approved: boolean;
  /** The directory for files that the command must not leave in the workspace. */
  readonly scratch: string;
}

export interface SandboxedCommand {
  readonly program: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Open files for the program, from descriptor 3 on. The caller closes them after the start. */
  readonly descriptors: readonly number[];
  /** Must be called after all processes of the command have ended: returns what was undone, for the model. */
  readonly finish: (printed: string) => Promise<readonly string[]>;
}

/** The use of models by a call itself. It counts as usage of the run that made the call. */
export interface ModelUse {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheReadInputTokens: number;
  readonly cacheCreationInputTokens: number;
  /** In USD; absent if it is unknown. */
  readonly cost?: number;
}

/** The result of a call. */
export interface ToolOutput {
  /** One line for display and for a pruned history. */
  readonly summary: string;
  /** What the model reads, limited in size. */
  readonly content: readonly Content[];
  readonly isError: boolean;
  /** Data for user interfaces: a diff, an exit code, the file with the full output. */
  readonly details?: JsonObject;
  readonly used?: ModelUse;
}

export interface ToolParts<Input> {
  readonly name: string;
  readonly description: string;
  readonly input: shape.Shape<Input>;
  readonly parallel: boolean;
  readonly access: (input: Input, cwd: string) => readonly Access[];
  readonly title: (input: Input, cwd: string) => string;
  readonly run: (input: Input, around: ToolContext, signal: AbortSignal) => Promise<ToolOutput>;
}

/**
 * Creates a tool whose arguments are parsed by a shape, so that the schema and the accepted arguments cannot
 * differ.
 */
export function defineTool<Input>(parts: ToolParts<Input>): Tool {
  const { name, description, input: inputShape, parallel } = parts;
  return {
    name,
    description,
    parameters: inputShape.schema,
    parallel,
    prepare(value, cwd) {
      const problems: shape.Problem[] = [];
      const input = inputShape.read(value, [], (problem) => problems.push(problem));
      if (input === undefined) return { invalid: invalidArguments(name, problems.map(problemLine), value) };
      return {
        access: parts.access(input, cwd),
        title: parts.title(input, cwd),
        run: (around, signal) => parts.run(input, around, signal),
      };
    },
  };
}

function problemLine({ path, text }: shape.Problem): string {
  return `${path.join('.') || 'arguments'}: ${text}`;
}

/** Returns the message for a model about invalid arguments; each problem is `path: reason`. */
export function invalidArguments(name: string, problems: readonly string[], value: unknown): string {
  const lines = problems.map((problem) => `  - ${problem}`);
  return `Validation failed for tool "${name}":\n${lines.join('\n')}\n\nReceived arguments:\n${quoteValue(value)}`;
}

/** Indented, unless that would be long: the indentation of deeply nested values can exceed the text. */
function quoteValue(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing';
  if (text.length <= MAX_QUOTE) return JSON.stringify(value, null, 2) ?? text;
  return `${text.slice(0, MAX_QUOTE)}… (${text.length - MAX_QUOTE} more characters)`;
}

const MAX_QUOTE = 10_000;

export function textOutput(summary: string, text: string, details?: JsonObject): ToolOutput {
  return output(summary, text, false, details);
}

export function errorOutput(text: string, details?: JsonObject): ToolOutput {
  const [firstLine = text, secondLine = ''] = text.split('\n');
  const summary = firstLine.endsWith(':') ? `${firstLine} ${secondLine.replace(/^[\s-]+/, '')}` : firstLine;
  return output(summary, text, true, details);
}

function output(
  summary: string,
  text: string,
  isError: boolean,
  details: JsonObject | undefined,
): ToolOutput {
  return {
    summary,
    content: [{ type: 'text', text }],
    isError,
    ...withoutUndefined({ details }),
  };
}
