import type { Cost, Failure, Item, LlmEvent, Usage } from '../llm/index.ts';
import type { ToolOutput } from '../tools/index.ts';

/** All that happens while a worker runs: what the model streams, and what is made of it. */
export type RunEvent = LlmEvent | WorkerEvent;

export type WorkerEvent =
  | { readonly type: 'run-start'; readonly runId: string }
  /** Something was added to the conversation before the model is asked again. */
  | { readonly type: 'input'; readonly origin: InputOrigin; readonly item: Item }
  /** Turns count per conversation, from 1. */
  | { readonly type: 'turn-start'; readonly turn: number }
  /** The model's answer is over; `items` is what it left in the conversation. */
  | {
      readonly type: 'llm-end';
      readonly turn: number;
      readonly outcome: AnswerOutcome;
      readonly items: readonly Item[];
      /** What there is of an answer that broke off, to be shown and kept. The model is sent what is in `items` of it. */
      readonly broken?: readonly Item[];
      readonly usage?: Usage;
      readonly cost?: Cost;
    }
  /** The call is allowed and begins, or is refused and its end follows at once. */
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
  /** The model will be asked again after a pause. A continuation goes on with an answer that broke off. */
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

/** `shell` is what a person ran beside the agent. */
export type InputOrigin = 'prompt' | 'steer' | 'follow-up' | 'continuation' | 'shell';

export type AnswerOutcome = 'completed' | 'cancelled' | 'failed';

/** A call as a person sees it. */
export interface CallLine {
  readonly callId: string;
  readonly name: string;
  /** JSON text, as the model wrote it, or as a person changed it. */
  readonly arguments: string;
  readonly title: string;
}

export type CallStatus =
  | 'done'
  /** It ran and failed, or could not be run. */
  | 'failed'
  | 'denied'
  /** Not run because a person's message came first. */
  | 'skipped'
  /** Cancelled before or while it ran. */
  | 'interrupted';

export type CompactionReason = 'threshold' | 'overflow' | 'manual';

export type CompactionResult =
  | {
      readonly status: 'compacted';
      readonly summary: string;
      /** How many items, from the first, the summary stands for. */
      readonly replaced: number;
      readonly tokensBefore: number;
      readonly tokensAfter: number;
    }
  | { readonly status: 'skipped' | 'cancelled' }
  | { readonly status: 'failed'; readonly failure: Failure };

export type RunOutcome =
  | { readonly status: 'finished' }
  /** Before the calls of a turn were run; `resume` goes on. */
  | { readonly status: 'paused'; readonly callIds: readonly string[] }
  | { readonly status: 'cancelled' }
  /** The process ended during the run; said by whoever opens the conversation again. */
  | { readonly status: 'interrupted' }
  | { readonly status: 'failed'; readonly failure: Failure }
  /** The run was stopped by a bound, not by the model. */
  | { readonly status: 'limited'; readonly limit: 'max-turns' | 'loop' | 'budget'; readonly message: string };

/** What was used: by a turn, a run, or a conversation. */
export interface Totals {
  readonly turns: number;
  readonly toolCalls: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheReadInputTokens: number;
  readonly cacheCreationInputTokens: number;
  /** In USD; absent as soon as one turn's cost is not known. */
  readonly cost?: number;
}
