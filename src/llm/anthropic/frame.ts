import { parseFrame, type JsonObject, numberOf, objectOf, stringOf } from '../../base/index.ts';
import { usageFrom } from '../answer.ts';
import type { StopReason, Usage } from '../event.ts';

/** One `data` payload of the Messages API's stream, or a complete message that was not streamed. Fields are validated where they are used. */
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
  return parseFrame(payload);
}

/** The provider's latest counters; later frames repeat some of them and omit others. */
export interface Counters {
  readonly input?: number | undefined;
  readonly output?: number | undefined;
  readonly cacheRead?: number | undefined;
  readonly cacheCreation?: number | undefined;
  readonly thinking?: number | undefined;
}

export function mergeCounters(known: Counters, usage: unknown): Counters {
  const wire = objectOf(usage);
  return {
    input: numberOf(wire.input_tokens) ?? known.input,
    output: numberOf(wire.output_tokens) ?? known.output,
    cacheRead: numberOf(wire.cache_read_input_tokens) ?? known.cacheRead,
    cacheCreation: numberOf(wire.cache_creation_input_tokens) ?? known.cacheCreation,
    thinking: numberOf(objectOf(wire.output_tokens_details).thinking_tokens) ?? known.thinking,
  };
}

/** The API counts only the uncached part of the prompt as input; we count the whole prompt. */
export function usageOf({ input, output, cacheRead, cacheCreation, thinking }: Counters): Usage {
  const inputTokens = input === undefined ? undefined : input + (cacheRead ?? 0) + (cacheCreation ?? 0);
  return usageFrom({
    inputTokens,
    outputTokens: output,
    totalTokens: undefined,
    cacheReadInputTokens: cacheRead,
    cacheCreationInputTokens: cacheCreation,
    reasoningTokens: thinking,
  });
}

export const STOP_REASONS: Readonly<Record<string, StopReason>> = {
  end_turn: 'end-turn',
  max_tokens: 'max-tokens',
  stop_sequence: 'stop-sequence',
  tool_use: 'tool-use',
  pause_turn: 'pause-turn',
  compaction: 'pause-turn',
  refusal: 'refusal',
  model_context_window_exceeded: 'context-full',
};

export function blockText(block: JsonObject): string {
  return stringOf(block.text) || stringOf(block.thinking);
}
