import type { AgentBackend } from '../backends/index.ts';
import type { Cost, Llm, Model, Usage } from '../llm/index.ts';
import type {
  BackgroundCommands,
  ClientServices,
  FileFacts,
  PermissionMode,
  HostToolContext,
  Policy,
  Rule,
  Scope,
  TodoStore,
  Tool,
} from '../tools/index.ts';
import type { Totals } from '../worker/index.ts';
import type { Caller, Overrides, PodCommand, Receipt } from './command.ts';
import type { Person } from './person.ts';
import type { ModelChoice } from './session/index.ts';
import type { PodSettings, ServerValues, SettingsChange } from './settings.ts';
import type { WatchItem } from './watch.ts';

/**
 * The model, tools and policy that a pod runs with. The program creates it; a pod depends on no provider and no configuration.
 */
export interface Agent {
  readonly defaultModel: ModelChoice;
  /** Returns the client for a model. Rejects with the next step if the model is unknown or has no key. */
  readonly model: (choice: ModelChoice) => Promise<ReadyModel>;
  /** The currently available tools. Tools of MCP servers appear and disappear. */
  readonly tools: () => Promise<readonly Tool[]>;
  /** Returns the system prompt. */
  readonly system: () => Promise<string>;
  readonly mode: PermissionMode;
  /** Rules from the configuration, which apply to everyone. */
  readonly rules: readonly Rule[];
  /** Rules that a person created by answering "always". */
  readonly rulesOf?: (person: Person) => readonly Rule[];
  readonly sandboxed: boolean;
  /** Polypod's own files and directories, which an agent may change only with full access. */
  readonly protectedPaths?: readonly string[];
  readonly fileFacts: FileFacts;
  /** The paths that the agent may read and write, with additional paths for a single run. */
  readonly scope: (paths: readonly string[]) => Promise<Scope>;
  /** The dependencies of a tool call; the policy determines where a sandboxed command may write. */
  readonly toolContext: (callId: string, policy?: Pick<Policy, 'mode' | 'scope'>) => HostToolContext;
  /** Describes what happened to the processes of a call that was running when its host process was killed. */
  readonly interruptionNote?: (callId: string) => string | undefined;
  /** Stores a rule permanently. */
  readonly remember: (rule: Rule, person: Person) => Promise<void>;
  /**
   * Writes a title for a session; undefined if no model is available for it, or if the request failed. Never rejects.
   */
  readonly title?: (about: TitleSource, signal: AbortSignal) => Promise<WrittenTitle | undefined>;
  /** The agent that does the work, unless our own worker does. */
  readonly backend?: AgentBackend;
  readonly close: () => Promise<void>;
}

/** What a title is written from. */
export interface TitleSource {
  /** The model of the session. */
  readonly model: ModelChoice;
  readonly prompt: string;
  readonly answer: string;
}

export interface WrittenTitle {
  /** Undefined if the answer contains no title. */
  readonly title: string | undefined;
  readonly usage: Usage | undefined;
  readonly cost: Cost | undefined;
}

export interface ReadyModel {
  readonly llm: Llm;
  readonly model: Model;
}

/** A pod that works for another one. */
export interface ChildPod {
  readonly id: string;
  readonly handle: (command: PodCommand, caller: Caller) => Promise<Receipt>;
  /** As `Pod.watch`. */
  readonly watch: (from: {
    readonly after: number;
    readonly signal?: AbortSignal;
  }) => AsyncIterable<WatchItem>;
}

export interface NewChild {
  readonly settings: SettingsChange;
  /** The run that the parent waits for. After a restart nothing waits for it, so it is cancelled and not continued. */
  readonly awaitedRun: string;
}

/** How an agent runs child pods. */
export interface Children {
  /** Creates a child in the same directory. Its approvals are also requested from the parent. */
  readonly spawn: (child: NewChild) => Promise<ChildPod>;
  /** The overrides of the parent's current run, and its usage so far. */
  readonly currentRun: () => { readonly overrides: Overrides; readonly used: Totals };
}

/** The directory that an agent works in, and the state that it shares with its pod. */
export interface AgentContext {
  readonly podId: string;
  readonly cwd: string;
  readonly todos: TodoStore;
  /** The background commands of the pod, for the context of tool calls. */
  readonly background: BackgroundCommands;
  /** The pod's current settings, including its own MCP servers. */
  readonly settings: () => PodSettings;
  /** What a connected client does for the tools. */
  readonly client?: () => ClientServices | undefined;
  /** The values for the `editorServers` of the settings; undefined if no editor has given them to this process. */
  readonly editorServerValues?: () => ServerValues | undefined;
  /** Absent for a pod that is a child itself. */
  readonly children?: Children;
}

export type OpenAgent = (context: AgentContext) => Promise<Agent>;
