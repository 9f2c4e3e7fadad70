import { type JsonObject, numberOf, objectOf, stringOf, objectIn } from '../../base/index.ts';
import { usageFrom } from '../answer.ts';
import { type FailureKind, type StopReason, type Usage } from '../event.ts';

/** One `data` payload of the Messages API's stream. Fields are looked at where they are used, never trusted. */
export interface Frame {
  readonly type?: unknown;
  readonly index?: unknown;
  readonly message?: unknown;
  readonly content_block?: unknown;
  readonly delta?: unknown;
  readonly usage?: unknown;
  readonly error?: unknown;
}

export function decode(payload: string): Frame | undefined {
  return objectIn(payload);
}

/** The provider's counters as last heard: it repeats some of them, and leaves others out, in later frames. */
export interface Counters {
  readonly input?: number | undefined;
  readonly output?: number | undefined;
  readonly cacheRead?: number | undefined;
  readonly cacheCreation?: number | undefined;
}

export function mergeCounters(known: Counters, usage: unknown): Counters {
  const wire = objectOf(usage);
  return {
    input: numberOf(wire.input_tokens) ?? known.input,
    output: numberOf(wire.output_tokens) ?? known.output,
    cacheRead: numberOf(wire.cache_read_input_tokens) ?? known.cacheRead,
    cacheCreation: numberOf(wire.cache_creation_input_tokens) ?? known.cacheCreation,
  };
}

/** The wire counts only the uncached part of the prompt as input; we count all that the model saw. */
export function usageOf({ input, output, cacheRead, cacheCreation }: Counters): Usage {
  const inputTokens = input === undefined ? undefined : input + (cacheRead ?? 0) + (cacheCreation ?? 0);
  return usageFrom({
    inputTokens,
    outputTokens: output,
    totalTokens: undefined,
    cacheReadInputTokens: cacheRead,
    cacheCreationInputTokens: cacheCreation,
    reasoningTokens: undefined,
  });
}

export const STOP_REASONS: Readonly<Record<string, StopReason>> = {
  end_turn: 'end-turn',
  max_tokens: 'max-tokens',
  stop_sequence: 'stop-sequence',
  tool_use: 'tool-use',
  pause_turn: 'pause-turn',
  refusal: 'refusal',
  model_context_window_exceeded: 'context-full',
};

/** Errors inside a stream carry a type but no HTTP status. */
export const ERROR_KINDS: Readonly<Record<string, FailureKind>> = {
  authentication_error: 'auth',
  permission_error: 'auth',
  billing_error: 'quota',
  rate_limit_error: 'rate-limit',
  overloaded_error: 'overloaded',
  not_found_error: 'unknown-model',
  invalid_request_error: 'invalid-request',
  request_too_large: 'context-too-long',
  timeout_error: 'timeout',
};

export function textOfBlock(block: JsonObject): string {
  return stringOf(block.text) || stringOf(block.thinking);
}
