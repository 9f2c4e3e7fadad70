import { frameIn, type JsonObject, numberOf } from '../../base/index.ts';
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
  return frameIn(payload);
}

export const STOP_REASONS: Readonly<Record<string, StopReason>> = {
  stop: 'end-turn',
  length: 'max-tokens',
};

/** A prompt that was fully cached is left out by the server: unknown, not 0. */
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

/** Arguments come parsed; they are JSON text everywhere else. */
export function argumentsOf(call: JsonObject): string {
  const value = call.arguments;
  if (typeof value === 'string') return value;
  return value === undefined || value === null ? '' : JSON.stringify(value);
}
