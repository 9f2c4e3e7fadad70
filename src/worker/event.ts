import type { Cost, Failure, Item, LlmEvent, Usage } from '../llm/index.ts';
import type { ToolOutput } from '../tools/index.ts';

/** The events of a run: those that the model streams, and those of the worker. */
export type RunEvent = LlmEvent | WorkerEvent;

export type WorkerEvent =
  | { readonly type: 'run-start'; readonly runId: string }
  /** An item was added to the conversation before the next request. */
  | { readonly type: 'input'; readonly origin: InputOrigin; readonly item: Item }
  /** Turns count per conversation, from 1. */
  | { readonly type: 'turn-start'; readonly turn: number }
  /** The model's answer has ended; `items` were added to the conversation. */
  | {
      readonly type: 'llm-end';
      readonly turn: number;
      readonly outcome: AnswerOutcome;
      readonly items: readonly Item[];
      /** The partial answer if it was cut off, for display and storage. Only `items` are sent to the model. */
      readonly broken?: readonly Item[];
      readonly usage?: Usage;
      readonly cost?: Cost;
    }
  /** The call is allowed and starts, or it is refused and its end follows immediately. */
  | { readonly type: 'tool-start'; readonly call: CallLine }
  | { readonly type: 'tool-update'; readonly callId: string; readonly text: string }
  /** In order of completion; results in the conversation are in call order. */
  | {
      readonly type: 'tool-end';
      readonly callId: string;
      readonly name: string;
      readonly status: CallStatus;
      readonly output: ToolOutput;
    }
  | { readonly type: 'turn-end'; readonly turn: number; readonly results: readonly Item[] }
  /** The request will be retried after a delay. A continuation resumes an answer that was cut off. */
  | {
      readonly type: 'retry-start';
      readonly attempt: number;
      readonly maxAttempts: number;
      readonly delayMs: number;
      readonly continuation: boolean;
      readonly failure: Failure;
    }
  | {
      readonly type: 'retry-end';
      readonly attempt: number;
      readonly success: boolean;
      readonly failure?: Failure;
    }
  | { readonly type: 'compaction-start'; readonly reason: CompactionReason }
  | { readonly type: 'compaction-end'; readonly reason: CompactionReason; readonly result: CompactionResult }
  | {
      readonly type: 'run-end';
      readonly runId: string;
      readonly outcome: RunOutcome;
      readonly totals: Totals;
    };

/** `shell` is a command that the user ran; a `notice` reports what happened meanwhile. */
export type InputOrigin = 'prompt' | 'steer' | 'follow-up' | 'continuation' | 'shell' | 'notice';

export type AnswerOutcome = 'completed' | 'cancelled' | 'failed';

/** A call as it is displayed. */
export interface CallLine {
  readonly callId: string;
  readonly name: string;
  /** JSON text, as the model wrote it or a person changed it. */
  readonly arguments: string;
  readonly title: string;
}

export type CallStatus =
  | 'done'
  /** Failed, or could not be run. */
  | 'failed'
  | 'denied'
  /** Not run because of a steering message. */
  | 'skipped'
  /** Cancelled before or while it ran. */
  | 'interrupted';

export type CompactionReason = 'threshold' | 'overflow' | 'manual';

export type CompactionResult =
  | {
      readonly status: 'compacted';
      readonly summary: string;
      /** The number of leading items that the summary replaces. */
      readonly replaced: number;
      readonly tokensBefore: number;
      readonly tokensAfter: number;
    }
  | { readonly status: 'skipped' | 'cancelled' }
  | { readonly status: 'failed'; readonly failure: Failure };

export type RunOutcome =
  | { readonly status: 'finished' }
  /** Paused before the calls of a turn were run; `resume` continues. */
  | { readonly status: 'paused'; readonly callIds: readonly string[] }
  | { readonly status: 'cancelled' }
  /** The process ended during the run; reported when the conversation is opened again. */
  | { readonly status: 'interrupted' }
  | { readonly status: 'failed'; readonly failure: Failure }
  /** A limit stopped the run. */
  | { readonly status: 'limited'; readonly limit: 'max-turns' | 'loop' | 'budget'; readonly message: string };

/** The usage of a turn, a run or a conversation. */
export interface Totals {
  readonly turns: number;
  readonly toolCalls: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheReadInputTokens: number;
  readonly cacheCreationInputTokens: number;
  /** In USD; absent if the cost of any turn is unknown. */
  readonly cost?: number;
}
