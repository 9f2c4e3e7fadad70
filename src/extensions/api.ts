import type { JsonObject } from '../base/index.ts';

/** What a module given with `-e` exports as its default: called once, with all that it may use. */
export type Extension = (polypod: ExtensionApi) => void | Promise<void>;

export interface ExtensionApi {
  /** The directory that agents work in. */
  readonly cwd: string;
  /** Gives agents a tool. It is not asked about: whoever loaded the extension has allowed it. */
  readonly registerTool: (tool: ExtensionTool) => void;
  /** A prompt that begins with `/name` calls the handler, also during a run, and goes to no model. */
  readonly registerCommand: (name: string, command: ExtensionCommand) => void;
  /** Takes part in what happens. */
  readonly on: <E extends keyof ExtensionHooks>(event: E, hook: ExtensionHooks[E]) => void;
  /** Reaches the person, where there is one. */
  readonly ui: ExtensionUi;
  /** Says something to the agent, as a person would; during a run it waits until that is done. */
  readonly send: (text: string) => void;
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

export interface ExtensionCommand {
  readonly description?: string;
  readonly handler: (args: string) => Promise<void> | void;
}

export interface ExtensionHooks {
  /** Before the client leaves its session. */
  readonly session_before_switch: (event: {
    readonly reason: 'new' | 'resume' | 'fork';
  }) => Promise<Objection | void> | Objection | void;
  /** Before a tool of any kind runs; a reason is a denial that the model reads. */
  readonly tool_call: (event: {
    readonly name: string;
    readonly input: unknown;
  }) => Promise<Denial | void> | Denial | void;
}

export interface Objection {
  readonly cancel: boolean;
}

export interface Denial {
  readonly deny: string;
}

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
