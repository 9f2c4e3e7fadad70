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

/** What a pod's agent works with. Made by whoever composes the program: a pod knows no provider and no configuration. */
export interface Agent {
  readonly defaultModel: ModelChoice;
  /** The model behind a choice, ready to be asked. Refuses with the next step when there is none, or no key for it. */
  readonly model: (choice: ModelChoice) => Promise<ReadyModel>;
  /** All tools there are now; those of servers come and go. */
  readonly tools: () => Promise<readonly Tool[]>;
  /** What the agent is told about itself and its surroundings. */
  readonly system: () => Promise<string>;
  readonly mode: PermissionMode;
  /** Those of the configuration: they hold for everybody. */
  readonly rules: readonly Rule[];
  /** Those that a person has made by answering "always". */
  readonly rulesOf?: (person: Person) => readonly Rule[];
  readonly sandboxed: boolean;
  /** Files and directories of Polypod itself: an agent changes them with full access only. */
  readonly protectedPaths?: readonly string[];
  readonly fileFacts: FileFacts;
  /** Where it may read and write, with more paths for a single run. */
  readonly scope: (paths: readonly string[]) => Promise<Scope>;
  /** What a call gets; the policy says where a sandboxed command may write. */
  readonly surroundings: (callId: string, policy?: Pick<Policy, 'mode' | 'scope'>) => HostToolContext;
  /** What became of the processes of a call that ran when the process that hosted the agent was killed. */
  readonly interruptionNote?: (callId: string) => string | undefined;
  /** Keeps a rule beyond the session. */
  readonly remember: (rule: Rule, person: Person) => Promise<void>;
  readonly close: () => Promise<void>;
}

export interface ReadyModel {
  readonly llm: Llm;
  readonly model: Model;
}

/** Where an agent is to work, and what it shares with its pod. */
export interface Workplace {
  readonly podId: string;
  readonly cwd: string;
  readonly todos: TodoStore;
  /** What the pod is set to now: MCP servers of its own are in there. */
  readonly settings: () => PodSettings;
}

export type OpenAgent = (place: Workplace) => Promise<Agent>;
