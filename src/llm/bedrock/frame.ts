import { isObject, type JsonObject, numberOf, objectOf, parseFrame, stringOf } from '../../base/index.ts';
import { usageFrom } from '../answer.ts';
import type { Failure, StopReason, Usage } from '../event.ts';
import { failureFromBody } from '../failure.ts';

/** One message of the event stream: an object with one key, the type of the event or exception. */
export interface Frame {
  readonly type: string;
  readonly body: JsonObject;
}

export function decode(payload: string): Frame | undefined {
  const message = parseFrame(payload);
  if (message === undefined) return undefined;
  const [[type, body] = ['', {}]] = Object.entries(message);
  return { type, body: objectOf(body) };
}

/** The failure that a message reports; undefined if it is an event. Unknown exceptions are failures, too. */
export function failureOf({ type, body }: Frame): Failure | undefined {
  if (type === 'error') return failureFromBody({ error: body });
  if (!/(?:Exception|Error)$/.test(type)) return undefined;
  // The message of a model's error only says that there was one.
  const message = [stringOf(body.message) || stringOf(body.Message), stringOf(body.originalMessage)]
    .filter((text) => text !== '')
    .join(': ');
  return failureFromBody({ error: { code: type, message } });
}

/** The API counts only the uncached part of the prompt as input; we count the whole prompt. */
export function usageOf(usage: unknown): Usage {
  const wire = objectOf(usage);
  const input = numberOf(wire.inputTokens);
  const cacheRead = numberOf(wire.cacheReadInputTokens);
  const cacheWrite = numberOf(wire.cacheWriteInputTokens);
  return usageFrom({
    inputTokens: input === undefined ? undefined : input + (cacheRead ?? 0) + (cacheWrite ?? 0),
    outputTokens: numberOf(wire.outputTokens),
    totalTokens: undefined,
    cacheReadInputTokens: cacheRead,
    cacheCreationInputTokens: cacheWrite,
    reasoningTokens: undefined,
  });
}

/** The fields of `reasoningContent` in a delta. */
export interface ReasoningDelta {
  readonly text: string;
  readonly signature: string;
  /** Base64. */
  readonly redacted: string;
}

export function reasoningDelta(delta: JsonObject): ReasoningDelta | undefined {
  const content = delta.reasoningContent;
  if (!isObject(content)) return undefined;
  return {
    text: stringOf(content.text),
    signature: stringOf(content.signature),
    redacted: stringOf(content.redactedContent),
  };
}

export const STOP_REASONS: Readonly<Record<string, StopReason>> = {
  end_turn: 'end-turn',
  max_tokens: 'max-tokens',
  stop_sequence: 'stop-sequence',
  tool_use: 'tool-use',
  guardrail_intervened: 'content-filter',
  content_filtered: 'content-filter',
  refusal: 'refusal',
  malformed_tool_use: 'malformed-call',
  model_context_window_exceeded: 'context-full',
};
