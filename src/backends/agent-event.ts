import type { Content, Cost, Failure, StopReason, Usage } from '../llm/index.ts';
import type { Access, ClientQuestion, TodoItem, ToolOutput } from '../tools/index.ts';
import type { CallStatus } from '../worker/index.ts';

/**
 * What another agent reports about its work, independent of its protocol. The `step` function of each agent translates its frames
 * to these events; `TurnBuilder` makes the events of a run from them.
 */
export type AgentEvent =
  /** The agent's own id of the session is known: with it the session can be resumed after the agent or this process has ended. */
  | { readonly type: 'session'; readonly sessionId: string; readonly model?: string }
  | { readonly type: 'text' | 'thinking'; readonly text: string }
  /**
   * The model's answer is complete. Its calls are reported before this event, or directly behind it. An agent whose protocol does not report the end of an answer omits it;
   * then the answer ends with the start of its first call, or with the turn.
   */
  | { readonly type: 'answer-end'; readonly stopReason?: StopReason }
  /** The usage of one request to a model, not a sum. */
  | { readonly type: 'usage'; readonly usage: Usage; readonly cost?: Cost }
  /** The cost of the agent's session so far in USD, for agents that report only sums. */
  | { readonly type: 'total-cost'; readonly usd: number }
  /** The size of the context after the last request, and its limit. */
  | { readonly type: 'context'; readonly tokens: number; readonly window?: number }
  /** The model has made a call. Its arguments are complete. */
  | { readonly type: 'call'; readonly call: AgentCall }
  /** The call is running. An agent that does not report it omits it. */
  | { readonly type: 'call-start'; readonly callId: string }
  /** The output so far, for display: each text replaces the previous one. */
  | { readonly type: 'call-update'; readonly callId: string; readonly text: string }
  | {
      readonly type: 'call-end';
      readonly callId: string;
      readonly status: CallStatus;
      readonly output: ToolOutput;
    }
  /** The agent waits for permission. It is answered once with `AgentConnection.answer`, unless it is withdrawn first. */
  | { readonly type: 'permission'; readonly request: PermissionRequest }
  | { readonly type: 'permission-withdrawn'; readonly requestId: string }
  /** The agent asks the user to fill in a form; answered once with `AgentConnection.reply`. */
  | { readonly type: 'question'; readonly requestId: string; readonly question: ClientQuestion }
  | { readonly type: 'question-withdrawn'; readonly requestId: string }
  | { readonly type: 'todos'; readonly items: readonly TodoItem[] }
  /** The agent repeats a failed request to its model after a delay. */
  | {
      readonly type: 'retry';
      readonly attempt: number;
      readonly maxAttempts: number;
      readonly delayMs: number;
      readonly failure: Failure;
    }
  /** A steering message has become part of the conversation. */
  | { readonly type: 'steered' }
  /** The agent has replaced its conversation by a summary. */
  | { readonly type: 'compacted'; readonly summary: string; readonly tokensBefore?: number }
  /** The agent works without a prompt, for example because a background task has ended. A `turn-end` follows. */
  | { readonly type: 'turn-start' }
  /** The turn that a prompt started is over. Calls without an end have none. */
  | { readonly type: 'turn-end'; readonly outcome: AgentOutcome };

export type AgentOutcome =
  | { readonly status: 'finished' | 'cancelled' }
  | { readonly status: 'failed'; readonly failure: Failure }
  | { readonly status: 'limited'; readonly limit: 'max-turns' | 'budget'; readonly message: string };

/** A call of another agent's tool. */
export interface AgentCall {
  readonly callId: string;
  /** The agent's own name of the tool. */
  readonly name: string;
  /** JSON text. */
  readonly arguments: string;
  /** One line for display, as our tools write it: `npm test`, `edit src/a.ts`. */
  readonly title: string;
  /**
   * Our tool with the same effect (`bash`, `read`, `write`, `edit`, …), whose rules apply to this call; by default the agent's
   * own name.
   */
  readonly tool?: string;
  /** What the call would touch, for the policy: absolute paths, commands, hosts. Never empty: an unknown tool is `foreign`. */
  readonly access: readonly Access[];
}

export interface PermissionRequest {
  readonly requestId: string;
  /** For a call that the agent has not reported yet, `TurnBuilder` reports it. */
  readonly call: AgentCall;
  /** The call of the main agent during which a sub-agent makes this one; its approval belongs to that call. */
  readonly parentCallId?: string;
}

/** The answer to a permission request. */
export type PermissionReply =
  | {
      readonly decision: 'allow';
      /** The arguments as a person changed them, JSON text. Only if the agent accepts them (`AgentCapabilities.editInput`). */
      readonly arguments?: string;
    }
  | { readonly decision: 'deny'; readonly reason: string }
  /** The run is being cancelled. */
  | { readonly decision: 'cancel' };

/** A prompt or a steering message. */
export type AgentInput = readonly Content[];
