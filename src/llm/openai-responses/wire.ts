import { arrayOf, frameIn, type JsonObject, numberOf, objectOf, stringOf } from '../../base/index.ts';
import { usageFrom } from '../answer.ts';
import type { StopReason, Usage } from '../event.ts';

/** One event of the Responses API's stream, or a whole response that was not streamed. */
export interface Frame {
  readonly type?: unknown;
  readonly object?: unknown;
  readonly item_id?: unknown;
  readonly output_index?: unknown;
  readonly content_index?: unknown;
  readonly summary_index?: unknown;
  readonly item?: unknown;
  readonly part?: unknown;
  readonly delta?: unknown;
  readonly text?: unknown;
  readonly refusal?: unknown;
  readonly arguments?: unknown;
  readonly input?: unknown;
  readonly response?: unknown;
  readonly error?: unknown;
  readonly message?: unknown;
  readonly code?: unknown;
}

export function decode(payload: string): Frame | undefined {
  // Not part of the protocol, but some compatible servers end every stream this way.
  return payload.trim() === '[DONE]' ? { type: 'done' } : frameIn(payload);
}

export const INCOMPLETE_REASONS: Readonly<Record<string, StopReason>> = {
  max_output_tokens: 'max-tokens',
  max_tokens: 'max-tokens',
  content_filter: 'content-filter',
};

/** Events that tell of progress inside an item which is kept whole when it is done, or repeat what deltas have said. */
export const SILENT: ReadonlySet<string> = new Set([
  'response.in_progress',
  'response.queued',
  'response.output_text.annotation.added',
  'response.reasoning_summary_text.done',
  'response.reasoning_text.done',
  'response.reasoning_summary_part.done',
]);

/** Items that the provider runs itself report under their own prefix, `response.web_search_call.searching`. */
export function isItemProgress(type: string): boolean {
  return /^response\.[a-z_]+_(?:call|tools|call_arguments|call_code|call_command|call_operation_diff|call_output_content)(?:\.[a-z_]+)+$/.test(
    type,
  );
}

export function usageOf(wire: JsonObject): Usage {
  return usageFrom({
    inputTokens: numberOf(wire.input_tokens),
    outputTokens: numberOf(wire.output_tokens),
    totalTokens: numberOf(wire.total_tokens),
    cacheReadInputTokens: numberOf(objectOf(wire.input_tokens_details).cached_tokens),
    cacheCreationInputTokens: numberOf(objectOf(wire.input_tokens_details).cache_write_tokens),
    reasoningTokens: numberOf(objectOf(wire.output_tokens_details).reasoning_tokens),
  });
}

/** The id under which the result of a call is sent back. */
export function callIdOf(item: JsonObject): string {
  return stringOf(item.call_id) || stringOf(item.id);
}

/** All ids under which later events may speak of an item. */
export function idsOf(item: JsonObject): readonly string[] {
  return [stringOf(item.id), stringOf(item.call_id)].filter((id) => id !== '');
}

/** What a call has beside what every call has (a namespace, the program that made it): it has to be sent back. */
export function extrasOf(item: JsonObject): JsonObject {
  const {
    type,
    id: _id,
    call_id: _callId,
    name: _name,
    arguments: _arguments,
    input: _input,
    status: _status,
    ...extras
  } = item;
  return type === 'custom_tool_call' ? { ...extras, custom: true } : extras;
}

/** Whether the tools that the response was given, where it repeats them, are all run by the provider. */
export function runsOwnToolsOnly(tools: unknown): boolean {
  const types = arrayOf(tools).map((tool) => stringOf(objectOf(tool).type));
  return types.length > 0 && !types.some((type) => CLIENT_TOOLS.has(type));
}

const CLIENT_TOOLS: ReadonlySet<string> = new Set(['function', 'custom', 'namespace', 'tool_search']);
