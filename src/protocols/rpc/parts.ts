import type { OfferedModel, Host, Pod, Rule, SettingsChange, ToolLimit } from '../../pod/index.ts';
import type { StreamRule } from '../../reminders/index.ts';
import type { PromptFiles } from '../inventory.ts';
import type { UiRequests } from './host-side/ui.ts';
import type { RpcEvent } from './wire.ts';

/** What an RPC link needs from the program that creates it. */
export interface RpcParts {
  readonly host: Host;
  /** The directory and settings of new sessions. */
  readonly sessions: RpcSessions;
  /** Opens the first session. */
  readonly first: () => Promise<Pod>;
  /** The models that can be used now. */
  readonly models: () => Promise<readonly OfferedModel[]>;
  /** Resolves a session's model that is not among them; undefined if there is no account for it. */
  readonly modelNamed?: (reference: string) => Promise<OfferedModel | undefined>;
  /** The models that `cycle_model` uses, as in `--models`; all if there is none. */
  readonly scope: readonly string[];
  /** The names of the built-in tools. */
  readonly toolNames: () => Promise<readonly string[]>;
  readonly extensions: RpcExtensions;
  /** Absent means that `/NAME` is ordinary text. */
  readonly prompts?: PromptFiles | undefined;
  /** Values that models must not write. */
  readonly rules: readonly StreamRule[];
  /** The limits of every session of the link, from the options of the host program; absent means no limit. */
  readonly limits: RpcLimits;
  /** The rules that apply if the user has set none; absent means that the pod's setting stays. */
  readonly fallbackRules?: readonly Rule[];
  /** Pods continue without the client: its tools are removed from them when it disconnects. */
  readonly survivesClient?: boolean;
  /** Called for every request that is refused. */
  readonly onRefused?: () => void;
  readonly version: string;
  /** The sender of the commands, as other doors see it. */
  readonly by: string;
  /** Whether errors that have no id in the protocol carry one anyway. */
  readonly echoErrors: boolean;
  readonly clearTodosAfterMs: number;
  readonly now: () => number;
}

export interface RpcSessions {
  readonly cwd: string;
  /** Sessions are only in memory and have no files. */
  readonly inMemory: boolean;
  /** Settings of new sessions: those of the options, with the model that answers if the options name none. */
  readonly settings?: SettingsChange | undefined;
  /** Settings for a continued session: only those of the options. */
  readonly flags?: SettingsChange | undefined;
  /** The directory for session files; absent means the host's default. */
  readonly directory?: string | undefined;
}

/** What the options of a host program remove from the agent, in every session of the link. */
export interface RpcLimits {
  readonly toolLimit?: ToolLimit | undefined;
  /** Only ever `false`: without a limit, the session's own setting applies. */
  readonly contextFiles?: false | undefined;
}

/** The extensions of a link. */
export interface RpcExtensions {
  /** Starts them. Their dialogs go to the client. */
  readonly start: (link: ExtensionLink) => Promise<void>;
  readonly commands: () => readonly {
    readonly name: string;
    readonly description?: string;
    readonly path: string;
  }[];
  /** Runs a command; false if there is no such command. Never rejects because of the command. */
  readonly run: (name: string, args: string) => boolean;
  /** Whether an extension prevents the change of the session. */
  readonly cancelsSwitch: (reason: 'new' | 'resume' | 'fork') => Promise<boolean>;
  /** Called when the client has opened its first session or has changed to another. */
  readonly sessionStarted: () => void;
  /** Called for every event that is sent to the client. */
  readonly observe: (event: RpcEvent) => void;
  /** Called when the link ends. */
  readonly close: () => Promise<void>;
}

/** What a link provides to extensions. */
export interface ExtensionLink {
  readonly ui: UiRequests;
  readonly failed: (extensionPath: string, event: string, error: string) => void;
  /** Sends a message to the agent as a person would. During a run it is queued as requested, or refused. */
  readonly send: (content: readonly ExtensionContent[], whenBusy?: 'steer' | 'followUp') => void;
  /** Whether no run is in progress. */
  readonly isIdle: () => boolean;
  /** Cancels the current run. */
  readonly abort: () => void;
  /** Ends the process once the next response has been written. */
  readonly shutdown: () => void;
}

export type ExtensionContent =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image'; readonly data: string; readonly mimeType: string };

export const NO_EXTENSIONS: RpcExtensions = {
  start: async () => {},
  commands: () => [],
  run: () => false,
  cancelsSwitch: async () => false,
  sessionStarted: () => {},
  observe: () => {},
  close: async () => {},
};
