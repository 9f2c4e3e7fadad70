import type { JsonObject, shape } from '../base/index.ts';
import type { Content } from '../llm/index.ts';
import type { CommandEntry, CommandRecord } from './process/command-ledger.ts';
import type { CommandLimiter } from './process/command-limits.ts';
import type { Isolation } from './process/isolation.ts';

/** Something an agent can do to the world. */
export interface Tool {
  readonly name: string;
  /** For the model: what it does and when to use it. */
  readonly description: string;
  /** JSON Schema of the arguments, made from the shape that reads them. */
  readonly parameters: JsonObject;
  /** Whether a call may run beside others; false for what changes the world. */
  readonly parallel: boolean;
  /** Reads a call's arguments. Nothing has been done yet: the policy judges what the call would touch. */
  readonly prepare: (input: unknown, cwd: string) => PreparedCall | InvalidCall;
}

/** A call that can be run. */
export interface PreparedCall {
  readonly access: readonly Access[];
  /** One line for people: `read src/a.ts:1-40`, `npm test`. */
  readonly title: string;
  /** Rejects only for bugs; what goes wrong in the world is an output with `isError`. Ends soon after the signal. */
  readonly run: (around: ToolSurroundings, signal: AbortSignal) => Promise<ToolOutput>;
}

/** A call whose arguments cannot be read; the sentence is for the model. */
export interface InvalidCall {
  readonly invalid: string;
}

/** What a call would touch: all that the policy needs to know of it. Paths are absolute, not yet resolved. */
export type Access =
  | { readonly type: 'read'; readonly path: string }
  | {
      readonly type: 'write';
      readonly path: string;
      /** What the file holds afterwards, from what it holds before; undefined when that cannot be told. */
      readonly after?: (before: string | undefined) => string | undefined;
    }
  | { readonly type: 'command'; readonly command: string; readonly cwd: string }
  /** Something that only its name tells of: a tool of an MCP server or of a client. */
  | { readonly type: 'foreign'; readonly readOnly: boolean };

/** All of the world that a running call may use. */
export interface ToolSurroundings {
  /** The call's own name in the conversation. */
  readonly callId: string;
  readonly cwd: string;
  /** The environment for programs: without keys, unless the user passes them. */
  readonly env: Readonly<Record<string, string>>;
  /** A directory of ours for full outputs that the model gets only a part of. */
  readonly scratch: string;
  /**
   * The real path behind one that the call named, judged again at the moment of use: a link may have changed since.
   * Rejects with `denied`. `after` is what the file is about to hold.
   */
  readonly resolve: (path: string, access: 'read' | 'write', after?: string) => Promise<string>;
  /** Set when programs have to run in a sandbox. */
  readonly sandbox: Sandbox | undefined;
  /** Runs programs outside of the sandbox in a process namespace of their own; undefined if the user turned it off. */
  readonly isolation?: Isolation | undefined;
  /** Limits what programs use; undefined for a person's own commands. */
  readonly limiter?: CommandLimiter | undefined;
  /** Records a command that runs for this call, so that it can be ended if this process is killed. */
  readonly record?: ((entry: Pick<CommandRecord, 'mark' | 'command' | 'pipes'>) => CommandEntry) | undefined;
  /** Whether a person, or a rule for this very call, has allowed it; absent when it needed no permission. */
  readonly approved?: boolean;
  /**
   * Set when nobody approved the programs of the call: they run because they only read. Prepares a run in which they
   * cannot do anything else. Rejects with `denied` when they no longer only read.
   */
  readonly neutral?: ((own: Pick<ToolSurroundings, 'env' | 'scratch'>) => Promise<ReadOnlyRun>) | undefined;
  /** Tells what the call has brought so far, for people who watch. */
  readonly update: (text: string) => void;
}

/** What of its surroundings a call does not get from whoever runs it. */
export type OwnSurroundings = Omit<
  ToolSurroundings,
  'callId' | 'cwd' | 'resolve' | 'neutral' | 'update' | 'approved'
>;

/** A shell for a command that nobody approved. */
export interface ReadOnlyRun {
  readonly program: string;
  readonly args: (command: string) => readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Removes what was made for it. */
  readonly close: () => Promise<void>;
}

/** Runs programs where they can do no harm. */
export interface Sandbox {
  /** Makes ready for one command. Rejects with `denied` when the workspace cannot be protected. */
  readonly prepare: (request: SandboxRequest) => Promise<SandboxedCommand>;
}

export interface SandboxRequest {
  readonly program: string;
  readonly args: readonly string[];
  /** The command as it was written, for a shell. */
  readonly text: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** A person, or a rule for this very command, has allowed it: it may change repositories and start-up files. */
  readonly approved: boolean;
  /** Where to put what the command must not leave in the workspace. */
  readonly scratch: string;
}

export interface SandboxedCommand {
  readonly program: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Open files for the program, from descriptor 3 on. Whoever starts it closes them. */
  readonly descriptors: readonly number[];
  /** To be called when all processes of the command have ended: says what of its work was undone, for the model. */
  readonly finish: (printed: string) => Promise<readonly string[]>;
}

/** What a call brought. */
export interface ToolOutput {
  /** One line for people and for a history that was pruned. */
  readonly summary: string;
  /** What the model reads, capped. */
  readonly content: readonly Content[];
  readonly isError: boolean;
  /** What a user interface may show beside it: a diff, an exit code, the file with the full output. */
  readonly details?: JsonObject;
}

export interface ToolParts<Input> {
  readonly name: string;
  readonly description: string;
  readonly input: shape.Shape<Input>;
  readonly parallel: boolean;
  readonly access: (input: Input, cwd: string) => readonly Access[];
  readonly title: (input: Input, cwd: string) => string;
  readonly run: (input: Input, around: ToolSurroundings, signal: AbortSignal) => Promise<ToolOutput>;
}

/** A tool whose arguments are read by a shape: what the model is told and what is accepted cannot differ. */
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
      if (input === undefined) return { invalid: invalidArguments(name, problems.map(lineOf), value) };
      return {
        access: parts.access(input, cwd),
        title: parts.title(input, cwd),
        run: (around, signal) => parts.run(input, around, signal),
      };
    },
  };
}

function lineOf({ path, text }: shape.Problem): string {
  return `${path.join('.') || 'arguments'}: ${text}`;
}

/** What a model is told about arguments that cannot be read; each problem is `path: reason`. */
export function invalidArguments(name: string, problems: readonly string[], value: unknown): string {
  const lines = problems.map((problem) => `  - ${problem}`);
  return `Validation failed for tool "${name}":\n${lines.join('\n')}\n\nReceived arguments:\n${quoted(value)}`;
}

/** Indented, unless that would be long: spaces before what is nested deep are many times what the model wrote. */
function quoted(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing';
  if (text.length <= LONGEST_QUOTE) return JSON.stringify(value, null, 2) ?? text;
  return `${text.slice(0, LONGEST_QUOTE)}… (${text.length - LONGEST_QUOTE} more characters)`;
}

const LONGEST_QUOTE = 10_000;

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
    ...(details === undefined ? {} : { details }),
  };
}
