import type { JsonObject } from '../base/index.ts';

/**
 * The one vocabulary in which every provider's stream arrives: flat, and balanced by construction. Every block has
 * exactly one start and exactly one stop or abort; `usage` comes at most once, right before the last event; the last
 * event is a `status` that is not `started`.
 */
export type LlmEvent = MetaEvent | BlockEvent;
export type MetaEvent = PingEvent | UsageEvent | StatusEvent | ErrorEvent;
export type BlockEvent = BlockStart | BlockDelta | BlockStop | BlockAbort;

/** The provider is alive. Keep-alives are not progress: they do not hold off the idle timeout. */
export interface PingEvent {
  readonly type: 'ping';
  readonly timestamp?: number;
}

/** What the request cost, merged from all the provider said. A field that the provider left out is absent, never 0. */
export interface UsageEvent extends Usage {
  readonly type: 'usage';
}

export interface Usage {
  /** The whole prompt as the model saw it, cached parts included. */
  readonly inputTokens?: number;
  /** All that was generated, reasoning included. */
  readonly outputTokens?: number;
  readonly totalTokens?: number;
  /** The part of inputTokens read from the provider's cache. */
  readonly cacheReadInputTokens?: number;
  /** The part of inputTokens written to the provider's cache. */
  readonly cacheCreationInputTokens?: number;
  /** The part of outputTokens spent on reasoning. */
  readonly reasoningTokens?: number;
}

export type StatusEvent =
  | { readonly type: 'status'; readonly status: 'started'; readonly id?: string; readonly model?: string }
  | {
      readonly type: 'status';
      readonly status: 'completed';
      readonly stopReason: StopReason;
      /** The provider's own word, where it sent one. */
      readonly providerReason?: string;
    }
  | { readonly type: 'status'; readonly status: 'cancelled' | 'failed' };

export type StopReason =
  | 'end-turn'
  | 'max-tokens'
  | 'stop-sequence'
  | 'tool-use'
  /** The provider paused a long turn of its own tools; send the answer back to go on. */
  | 'pause-turn'
  /** The model declined. */
  | 'refusal'
  /** A filter beside the model withheld the answer or the prompt. */
  | 'content-filter'
  /** The model's context window is full. */
  | 'context-full'
  /** The model wrote a tool call that the provider could not read. */
  | 'malformed-call'
  /** The provider gave no reason, or one we do not know; see providerReason. */
  | 'other';

/** The request failed. At most one per request, always followed by `status: failed`. */
export interface ErrorEvent extends Failure {
  readonly type: 'error';
}

export interface Failure {
  readonly kind: FailureKind;
  /** The provider's own message where there is one; never contains a secret. */
  readonly message: string;
  /** The provider's own code. */
  readonly code?: string;
  readonly httpStatus?: number;
  /** How long the provider asked us to wait. */
  readonly retryAfterMs?: number;
}

export type FailureKind =
  | 'auth'
  | 'quota'
  | 'rate-limit'
  | 'overloaded'
  /** The provider broke in a way that may pass. */
  | 'server'
  | 'unknown-model'
  | 'invalid-request'
  | 'context-too-long'
  /** No connection, or it broke before the answer began. */
  | 'network'
  /** No connection, no first event, or no data for too long. */
  | 'timeout'
  /** The answer broke off without its end. */
  | 'cut-off'
  /** The provider sent something that is not its own protocol. */
  | 'malformed'
  /** Any other failure that the provider reported. */
  | 'provider';

export type BlockType = 'text' | 'thinking' | 'tool-use' | 'tool-result' | 'opaque';

export type BlockStart = { readonly type: 'block-start'; readonly index: number } & BlockHead;

export type BlockHead =
  | { readonly blockType: 'text' | 'thinking' }
  | { readonly blockType: 'tool-use'; readonly id: string; readonly name: string }
  | { readonly blockType: 'tool-result'; readonly toolUseId: string }
  /** Something the provider did itself (a web search, its result); named with the provider's word for it. */
  | { readonly blockType: 'opaque'; readonly name: string };

export interface BlockDelta {
  readonly type: 'block-delta';
  readonly index: number;
  readonly delta: DeltaContent;
}

export type DeltaContent =
  | { readonly type: 'text' | 'thinking'; readonly text: string }
  /** A fragment of a tool call's arguments; the fragments of one block joined are the JSON text. */
  | { readonly type: 'input-json'; readonly json: string };

export type BlockStop = {
  readonly type: 'block-stop';
  readonly index: number;
  /** Only where the provider says why together with the block's end; the reason that counts is on `status`. */
  readonly stopReason?: StopReason;
  readonly seal?: Seal;
} & BlockHead;

export interface BlockAbort {
  readonly type: 'block-abort';
  readonly index: number;
  readonly blockType: BlockType;
  readonly reason: string;
}

/**
 * What a provider wants back unchanged when the block is sent again: a signature, an encrypted thought, a whole opaque
 * block. Only the wire that wrote it can read it; to every other one it means nothing and is left out.
 */
export interface Seal {
  readonly wire: string;
  readonly data: JsonObject;
}

/** Something of the stream that became no event: kept for whoever looks for it, never fatal. */
export interface Trace {
  readonly type: 'trace';
  readonly what: string;
  /** The beginning of the frame, as JSON. */
  readonly preview: string;
}
