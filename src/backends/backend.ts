import type { Cost, Item, Usage } from '../llm/index.ts';
import type { ClientServices, TodoItem } from '../tools/index.ts';
import type {
  CompactionRequest,
  CompactionResult,
  Inbox,
  InputOrigin,
  Message,
  RunOutcome,
  Totals,
  WorkerOptions,
} from '../worker/index.ts';
import type { AgentCapabilities, AgentSettings } from './agent-program.ts';

/** Does the work of a pod, one run at a time: our own `Worker`, or another agent. Everything that happens is an event. */
export interface Backend {
  /** Messages for the current run. */
  readonly inbox: Inbox;
  readonly totals: Totals;
  readonly contextTokens: number;
  /** Adds the usage of a request that is not part of the conversation. */
  count(usage: Usage | undefined, cost: Cost | undefined): void;
  /** Runs from one prompt until there is nothing left to do. Never rejects because of an agent, a tool or a user. */
  run(prompt: Message, signal: AbortSignal): Promise<RunOutcome>;
  /** Continues a paused run, or one whose process has ended, after its approvals were decided. */
  resume(signal: AbortSignal): Promise<RunOutcome>;
  pause(): void;
  /** Stops because the process ends. Pending approvals stay open. */
  halt(): Promise<void>;
  /** Gives the calls of a paused run their results. */
  abandon(): void;
  addInput(origin: InputOrigin, item: Item): void;
  compact(request: CompactionRequest, signal: AbortSignal): Promise<CompactionResult>;
}

/** The session of another agent, and the pod that opened it. A fork of the pod finds the session of its parent here. */
export interface AgentSessionId {
  readonly id: string;
  readonly podId: string;
}

/** What a pod passes to a back end. */
export interface BackendOptions extends Omit<WorkerOptions, 'settings' | 'policies' | 'hooks' | 'wait'> {
  readonly agentSettings: () => AgentSettings;
  /** The session of the agent, as recorded. */
  readonly session: () => AgentSessionId | undefined;
  readonly recordSession: (sessionId: string) => void;
  readonly setTodos: (items: readonly TodoItem[]) => void;
  /** What a connected client does for the agent. */
  readonly client: () => ClientServices | undefined;
}

/** Another agent as the back end of a pod. */
export interface AgentBackend {
  readonly name: string;
  readonly title: string;
  readonly capabilities: AgentCapabilities;
  readonly create: (options: BackendOptions) => Backend;
  /** Ends the agent's program. */
  readonly close: () => Promise<void>;
}
