import type { JsonObject } from '../base/index.ts';

/**
 * The events of every provider's stream: flat and balanced. Every block has exactly one start and exactly one stop or
 * abort; `usage` occurs at most once, right before the last event; the last event is a `status` other than `started`.
 */
export type LlmEvent = MetaEvent | BlockEvent;
export type MetaEvent = PingEvent | UsageEvent | StatusEvent | ErrorEvent;
export type BlockEvent = BlockStart | BlockDelta | BlockStop | BlockAbort;

/** A keep-alive from the provider. It is not progress: it does not restart the idle timeout. */
export interface PingEvent {
  readonly type: 'ping';
  readonly timestamp?: number;
}

/** The token usage of the request, merged from all frames. A field that the provider omitted is absent, never 0. */
export interface UsageEvent extends Usage {
  readonly type: 'usage';
}

export interface Usage {
  /** The whole prompt, including cached parts. */
  readonly inputTokens?: number;
  /** All generated tokens, including reasoning. */
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
      /** The provider's own stop reason, if it sent one. */
      readonly providerReason?: string;
    }
  | { readonly type: 'status'; readonly status: 'cancelled' | 'failed' };

export type StopReason =
  | 'end-turn'
  | 'max-tokens'
  | 'stop-sequence'
  | 'tool-use'
  /** The provider paused a long turn of its own tools; send the answer back to continue. */
  | 'pause-turn'
  /** The model declined. */
  | 'refusal'
  /** A content filter blocked the answer or the prompt. */
  | 'content-filter'
  /** The model's context window is full. */
  | 'context-full'
  /** The model wrote a tool call that the provider could not parse. */
  | 'malformed-call'
  /** The provider sent no reason, or an unknown one; see providerReason. */
  | 'other';

/** The request failed. At most one per request, always followed by `status: failed`. */
export interface ErrorEvent extends Failure {
  readonly type: 'error';
}

export interface Failure {
  readonly kind: FailureKind;
  /** The provider's own message if there is one; never contains a secret. */
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
  /** A server error that may be temporary. */
  | 'server'
  | 'unknown-model'
  | 'invalid-request'
  | 'context-too-long'
  /** The connection failed, or was lost before the answer started. */
  | 'network'
  /** No connection, no first event, or no data for too long. */
  | 'timeout'
  /** The stream ended before the answer was complete. */
  | 'cut-off'
  /** The provider sent data that does not match its own protocol. */
  | 'malformed'
  /** Any other failure that the provider reported. */
  | 'provider';

export type BlockType = 'text' | 'thinking' | 'tool-use' | 'tool-result' | 'opaque';

export type BlockStart = { readonly type: 'block-start'; readonly index: number } & BlockHead;

export type BlockHead =
  | { readonly blockType: 'text' | 'thinking' }
  | { readonly blockType: 'tool-use'; readonly id: string; readonly name: string }
  | { readonly blockType: 'tool-result'; readonly toolUseId: string }
  /** Something the provider did itself (a web search, its result), with the provider's name for it. */
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
  /** Only if the provider sends a reason with the end of the block; the authoritative reason is on `status`. */
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
 * Data that the provider requires back unchanged when the block is sent again: a signature, encrypted reasoning, a complete
 * opaque block. `wire` names the provider API that wrote it; the seal is left out of requests to any other.
 */
export interface Seal {
  readonly wire: string;
  readonly data: JsonObject;
}

/** A part of the stream that was not converted to an event, for diagnostics. It is never fatal. */
export interface Trace {
  readonly type: 'trace';
  readonly what: string;
  /** The start of the frame, as JSON. */
  readonly preview: string;
}
