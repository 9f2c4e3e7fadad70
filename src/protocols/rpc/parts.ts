import type { OfferedModel, Host, Pod, Rule, SettingsChange, ToolLimit } from '../../pod/index.ts';
import type { StreamRule } from '../../reminders/index.ts';
import type { UiRequests } from './host-side/ui.ts';
import type { RpcEvent } from './wire.ts';

/** What an RPC link is given by whoever composes the program. */
export interface RpcParts {
  readonly host: Host;
  /** What new sessions are begun with. */
  readonly sessions: RpcSessions;
  /** The session to begin with. */
  readonly first: () => Promise<Pod>;
  /** Those that can be used now. */
  readonly models: () => Promise<readonly OfferedModel[]>;
  /** One that a session is set to and that is not among them; undefined when there is no account for it. */
  readonly modelNamed?: (reference: string) => Promise<OfferedModel | undefined>;
  /** Which of them `cycle_model` goes through, as `--models` names them; all if it names none. */
  readonly scope: readonly string[];
  /** The tools that agents have of their own. */
  readonly toolNames: () => Promise<readonly string[]>;
  readonly extensions: RpcExtensions;
  /** What models must not write. */
  readonly rules: readonly StreamRule[];
  /** What every session of the link is limited to, as the host program was told; nothing said means no limit. */
  readonly limits: RpcLimits;
  /** What a pod does unasked where the user has said nothing; as it is set if nothing is said here. */
  readonly fallbackRules?: readonly Rule[];
  /** Pods go on without the client: what only it can do is taken away from them when it leaves. */
  readonly outlivesClient?: boolean;
  /** Told of everything that the client is refused. */
  readonly onRefused?: () => void;
  readonly version: string;
  /** Whose commands these are, as other doors are told. */
  readonly by: string;
  /** Whether failures that have no id in the protocol get one all the same. */
  readonly echoErrors: boolean;
  readonly clearTodosAfterMs: number;
  readonly now: () => number;
}

export interface RpcSessions {
  readonly cwd: string;
  /** Sessions are gone with the process: they have no files. */
  readonly inMemory: boolean;
  /** For new ones: what the options say, and the model that answers if they name none. */
  readonly settings?: SettingsChange | undefined;
  /** For one that goes on: only what the options say. The rest is its own. */
  readonly flags?: SettingsChange | undefined;
  /** Where session files go, and are looked for; with the others of the host if it is not said. */
  readonly directory?: string | undefined;
}

/** What the options of a host program take away from the agent, in every session that the host works with. */
export interface RpcLimits {
  readonly toolLimit?: ToolLimit | undefined;
  /** Only ever `false`: without a limit it is a setting of the session. */
  readonly contextFiles?: false | undefined;
}

/** What extensions add to the protocol. */
export interface RpcExtensions {
  /** Begins them; their questions go to the client. */
  readonly start: (link: ExtensionLink) => Promise<void>;
  readonly commands: () => readonly {
    readonly name: string;
    readonly description?: string;
    readonly path: string;
  }[];
  /** Runs a command; false when there is none of that name. Never rejects for what the command does. */
  readonly run: (name: string, args: string) => boolean;
  /** Whether an extension objects to leaving the session. */
  readonly cancelsSwitch: (reason: 'new' | 'resume' | 'fork') => Promise<boolean>;
  /** The client works with a session now: its first one, or the one it has switched to. */
  readonly sessionStarted: () => void;
  /** What the client is told. */
  readonly observe: (event: RpcEvent) => void;
  /** The link ends. */
  readonly close: () => Promise<void>;
}

/** What extensions are given of a link. */
export interface ExtensionLink {
  readonly ui: UiRequests;
  readonly failed: (extensionPath: string, event: string, error: string) => void;
  /** Says something to the agent, as a person would. During a run it is queued as told, else refused. */
  readonly send: (content: readonly ExtensionContent[], whenBusy?: 'steer' | 'followUp') => void;
  /** Whether no run is under way. */
  readonly isIdle: () => boolean;
  /** Cancels the run that is under way. */
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
