import type { Llm, Model } from '../llm/index.ts';
import type {
  FileFacts,
  PermissionMode,
  HostToolContext,
  Policy,
  Rule,
  Scope,
  TodoStore,
  Tool,
} from '../tools/index.ts';
import type { Person } from './person.ts';
import type { ModelChoice } from './session/index.ts';
import type { PodSettings } from './settings.ts';

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
  readonly close: () => Promise<void>;
}

export interface ReadyModel {
  readonly llm: Llm;
  readonly model: Model;
}

/** The directory that an agent works in, and the state that it shares with its pod. */
export interface AgentContext {
  readonly podId: string;
  readonly cwd: string;
  readonly todos: TodoStore;
  /** The pod's current settings, including its own MCP servers. */
  readonly settings: () => PodSettings;
}

export type OpenAgent = (context: AgentContext) => Promise<Agent>;
