import { parseFrame, type JsonObject, numberOf } from '../../base/index.ts';
import { usageFrom } from '../answer.ts';
import type { StopReason, Usage } from '../event.ts';

/** One line of a streamed chat answer. */
export interface Frame {
  readonly model?: unknown;
  readonly message?: unknown;
  readonly done?: unknown;
  readonly done_reason?: unknown;
  readonly error?: unknown;
  readonly prompt_eval_count?: unknown;
  readonly eval_count?: unknown;
}

export function decode(payload: string): Frame | undefined {
  return parseFrame(payload);
}

export const STOP_REASONS: Readonly<Record<string, StopReason>> = {
  stop: 'end-turn',
  length: 'max-tokens',
};

/** The server omits the count for a fully cached prompt: it is unknown, not 0. */
export function usageOf(frame: Frame): Usage {
  return usageFrom({
    inputTokens: numberOf(frame.prompt_eval_count),
    outputTokens: numberOf(frame.eval_count),
    totalTokens: undefined,
    cacheReadInputTokens: undefined,
    cacheCreationInputTokens: undefined,
    reasoningTokens: undefined,
  });
}

/** Ollama sends arguments as an object; our events carry JSON text. */
export function argumentsOf(call: JsonObject): string {
  const value = call.arguments;
  if (typeof value === 'string') return value;
  return value === undefined || value === null ? '' : JSON.stringify(value);
}
