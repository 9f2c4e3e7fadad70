import type { JsonObject } from '../base/index.ts';
import type { ExecOptions, ExecResult } from './exec.ts';

/** What a module given with `-e` exports as its default: called once, with all that it may use. */
export type Extension = (polypod: ExtensionApi) => void | Promise<void>;

export interface ExtensionApi {
  /** The directory that agents work in. */
  readonly cwd: string;
  /** Gives agents a tool. It is not asked about: whoever loaded the extension has allowed it. */
  readonly registerTool: (tool: ExtensionTool | PiTool) => void;
  /** A prompt that begins with `/name` calls the handler, also during a run, and goes to no model. */
  readonly registerCommand: (name: string, command: ExtensionCommand) => void;
  /** Takes part in what happens. */
  readonly on: <E extends keyof ExtensionEvents>(event: E, hook: ExtensionHook<E>) => void;
  /** Reaches the person, where there is one. */
  readonly ui: ExtensionUi;
  /** Says something to the agent, as a person would; during a run it waits until that is done. */
  readonly send: (text: string) => void;
  /** As `send`, in pi's words. During a run it needs `deliverAs`. */
  readonly sendUserMessage: (
    content: string | readonly PiContent[],
    options?: { readonly deliverAs?: 'steer' | 'followUp' },
  ) => void;
  /** Runs a program, without a shell. */
  readonly exec: (command: string, args: readonly string[], options?: ExecOptions) => Promise<ExecResult>;
  /** Ends the program once the command that is under way has been answered. */
  readonly shutdown: () => void;
}

export interface ExtensionTool {
  /** Letters, digits, `_` and `-`. */
  readonly name: string;
  /** For the model: what it does and when to use it. */
  readonly description: string;
  /** JSON Schema of the arguments, an object. */
  readonly parameters: JsonObject;
  /** What it throws is a failed result that the model reads. */
  readonly run: (input: JsonObject, call: ExtensionCall) => Promise<ExtensionResult> | ExtensionResult;
}

export interface ExtensionCall {
  readonly callId: string;
  readonly cwd: string;
  /** Fires when the run is cancelled. */
  readonly signal: AbortSignal;
  /** Tells what there is so far, for people who watch. */
  readonly update: (text: string) => void;
}

/** Text, or text with what a user interface may show beside it. */
export type ExtensionResult =
  | string
  | { readonly text: string; readonly isError?: boolean; readonly details?: JsonObject };

/** A tool as pi's extensions define it. What it says about drawing and prompts is not used. */
export interface PiTool extends Omit<ExtensionTool, 'run'> {
  readonly execute: (
    callId: string,
    input: JsonObject,
    signal: AbortSignal,
    update: (partial: PiResult) => void,
    context: ExtensionContext,
  ) => Promise<PiResult>;
}

export interface PiResult {
  readonly content: readonly PiContent[];
  readonly details?: unknown;
  readonly isError?: boolean;
}

export type PiContent =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image'; readonly data: string; readonly mimeType: string };

export interface ExtensionCommand {
  readonly description?: string;
  readonly handler: (args: string, context: ExtensionContext) => Promise<void> | void;
}

/** What hooks and handlers are given beside their event. */
export interface ExtensionContext {
  readonly ui: ExtensionUi;
  readonly hasUI: true;
  readonly cwd: string;
  /** Whether no run is under way. */
  readonly isIdle: () => boolean;
  /** Cancels the run that is under way. */
  readonly abort: () => void;
  readonly shutdown: () => void;
}

/** What happens, by its name, and what an answer to it may be. */
export interface ExtensionEvents {
  /** Before a tool of any kind runs; a reason is a denial that the model reads. The input is read-only. */
  readonly tool_call: [
    event: {
      readonly name: string;
      readonly toolName: string;
      readonly toolCallId: string;
      readonly input: unknown;
    },
    answer: Denial,
  ];
  /** After a tool of any kind ran; what is given replaces its result. */
  readonly tool_result: [
    event: {
      readonly toolName: string;
      readonly toolCallId: string;
      readonly input: unknown;
      readonly content: readonly PiContent[];
      readonly details: unknown;
      readonly isError: boolean;
    },
    answer: Partial<PiResult>,
  ];
  /** Before the client leaves its session. */
  readonly session_before_switch: [event: { readonly reason: 'new' | 'resume' | 'fork' }, answer: Objection];
  /** Before the client goes on in a copy of its session. */
  readonly session_before_fork: [event: { readonly reason: 'fork' }, answer: Objection];
  /** The client works with a session: its first one, or another one. */
  readonly session_start: [event: { readonly reason: 'startup' | 'new' | 'resume' | 'fork' }, answer: void];
  /** The program is about to end. */
  readonly session_shutdown: [event: { readonly reason: 'quit' }, answer: void];
  /** The rest is what the client is told, in the same words. */
  readonly agent_start: [event: JsonObject, answer: void];
  readonly agent_end: [event: JsonObject, answer: void];
  readonly turn_start: [event: JsonObject, answer: void];
  readonly turn_end: [event: JsonObject, answer: void];
  readonly message_start: [event: JsonObject, answer: void];
  readonly message_end: [event: JsonObject, answer: void];
  readonly tool_execution_start: [event: JsonObject, answer: void];
  readonly tool_execution_update: [event: JsonObject, answer: void];
  readonly tool_execution_end: [event: JsonObject, answer: void];
}

export type ExtensionHook<E extends keyof ExtensionEvents> = (
  event: ExtensionEvents[E][0],
  context: ExtensionContext,
) => Promise<ExtensionEvents[E][1] | void> | ExtensionEvents[E][1] | void;

export interface Objection {
  readonly cancel?: boolean;
}

/** In our words, or in pi's. */
export type Denial = { readonly deny: string } | { readonly block?: boolean; readonly reason?: string };

/** Questions end with their default when nobody answers them: undefined, or false. */
export interface ExtensionUi {
  readonly select: (title: string, options: readonly string[], how?: Asking) => Promise<string | undefined>;
  readonly confirm: (title: string, message: string, how?: Asking) => Promise<boolean>;
  readonly input: (title: string, placeholder?: string, how?: Asking) => Promise<string | undefined>;
  readonly editor: (
    title: string,
    prefill?: string,
    how?: Pick<Asking, 'signal'>,
  ) => Promise<string | undefined>;
  readonly notify: (message: string, type?: 'info' | 'warning' | 'error') => void;
  /** Without a text the status is taken away. */
  readonly setStatus: (key: string, text?: string) => void;
  /** Without lines the widget is taken away. */
  readonly setWidget: (key: string, lines?: readonly string[], place?: 'aboveEditor' | 'belowEditor') => void;
  readonly setTitle: (title: string) => void;
  readonly setEditorText: (text: string) => void;
}

export interface Asking {
  /** In milliseconds. */
  readonly timeout?: number;
  readonly signal?: AbortSignal;
}
