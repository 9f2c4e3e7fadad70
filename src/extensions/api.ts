import type { JsonObject } from '../base/index.ts';
import type { ExecOptions, ExecResult } from './exec.ts';

/** The default export of a module. It is called once for each session with the API. */
export type Extension = (polypod: ExtensionApi) => void | Promise<void>;

export interface ExtensionApi {
  /** The directory that agents work in. */
  readonly cwd: string;
  /** Adds a tool. Its calls need no approval: the user who loaded the extension has allowed it. */
  readonly registerTool: (tool: ExtensionTool | PiTool) => void;
  /** A prompt that starts with `/name` calls the handler, also during a run, and is not sent to the model. */
  readonly registerCommand: (name: string, command: ExtensionCommand) => void;
  /** Registers a hook for an event. */
  readonly on: <E extends keyof ExtensionEvents>(event: E, hook: ExtensionHook<E>) => void;
  /** Dialogs and messages for the user, if there is one. */
  readonly ui: ExtensionUi;
  /** Sends a user message to the agent; during a run it is queued until the run ends. */
  readonly send: (text: string) => void;
  /** Like `send`, in pi's format. During a run, `deliverAs` is required. */
  readonly sendUserMessage: (
    content: string | readonly PiContent[],
    options?: { readonly deliverAs?: 'steer' | 'followUp' },
  ) => void;
  /** Runs a program, without a shell. */
  readonly exec: (command: string, args: readonly string[], options?: ExecOptions) => Promise<ExecResult>;
  /** Ends the program after the response to the current command. */
  readonly shutdown: () => void;
}

export interface ExtensionTool {
  /** Letters, digits, `_` and `-`. */
  readonly name: string;
  /** Tells the model what the tool does and when to use it. */
  readonly description: string;
  /** JSON Schema of the arguments, an object. */
  readonly parameters: JsonObject;
  /** An error that it throws is a failed result for the model. */
  readonly run: (input: JsonObject, call: ExtensionCall) => Promise<ExtensionResult> | ExtensionResult;
}

export interface ExtensionCall {
  readonly callId: string;
  readonly cwd: string;
  /** Aborts when the run is cancelled. */
  readonly signal: AbortSignal;
  /** Publishes the output so far to watchers. */
  readonly update: (text: string) => void;
}

/** Text, or text with details for user interfaces. */
export type ExtensionResult =
  | string
  | { readonly text: string; readonly isError?: boolean; readonly details?: JsonObject };

/** A tool in pi's format. Its rendering and prompt fields are ignored. */
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

/** The second argument of hooks and handlers. */
export interface ExtensionContext {
  readonly ui: ExtensionUi;
  /** Whether a user can answer dialogs. Without one, they return their defaults. */
  readonly hasUI: boolean;
  readonly cwd: string;
  /** Whether no run is active. */
  readonly isIdle: () => boolean;
  /** Cancels the active run. */
  readonly abort: () => void;
  readonly shutdown: () => void;
}

/** The events by name, with the answer that a hook may return. */
export interface ExtensionEvents {
  /** Before any tool runs. A returned denial is the result for the model. The input is read-only. */
  readonly tool_call: [
    event: {
      readonly name: string;
      readonly toolName: string;
      readonly toolCallId: string;
      readonly input: unknown;
    },
    answer: Denial,
  ];
  /** After any tool has run. Returned fields replace those of its result. */
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
  readonly session_before_switch: [
    event: { readonly reason: 'new' | 'resume' | 'fork' },
    answer: SwitchDecision,
  ];
  /** Before the client switches to a copy of its session. */
  readonly session_before_fork: [event: { readonly reason: 'fork' }, answer: SwitchDecision];
  /** The client has opened a session. */
  readonly session_start: [event: { readonly reason: 'startup' | 'new' | 'resume' | 'fork' }, answer: void];
  /** The program is about to end. */
  readonly session_shutdown: [event: { readonly reason: 'quit' }, answer: void];
  /** The remaining events are those that the client receives, in the same format. */
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

export interface SwitchDecision {
  readonly cancel?: boolean;
}

/** A denial in our format or in pi's. */
export type Denial = { readonly deny: string } | { readonly block?: boolean; readonly reason?: string };

/** Dialogs that nobody answers resolve with undefined or false. */
export interface ExtensionUi {
  readonly select: (
    title: string,
    options: readonly string[],
    how?: DialogOptions,
  ) => Promise<string | undefined>;
  readonly confirm: (title: string, message: string, how?: DialogOptions) => Promise<boolean>;
  readonly input: (title: string, placeholder?: string, how?: DialogOptions) => Promise<string | undefined>;
  readonly editor: (
    title: string,
    prefill?: string,
    how?: Pick<DialogOptions, 'signal'>,
  ) => Promise<string | undefined>;
  readonly notify: (message: string, type?: 'info' | 'warning' | 'error') => void;
  /** Without a text, the status is removed. */
  readonly setStatus: (key: string, text?: string) => void;
  /** Without lines, the widget is removed. */
  readonly setWidget: (
    key: string,
    lines?: readonly string[],
    placement?: 'aboveEditor' | 'belowEditor',
  ) => void;
  readonly setTitle: (title: string) => void;
  readonly setEditorText: (text: string) => void;
}

export interface DialogOptions {
  /** In milliseconds. */
  readonly timeout?: number;
  readonly signal?: AbortSignal;
}
