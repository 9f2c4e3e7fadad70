import { arrayOf, parseFrame, type JsonObject, numberOf, objectOf, stringOf } from '../../base/index.ts';
import { usageFrom } from '../answer.ts';
import type { StopReason, Usage } from '../event.ts';

/** One event of the Responses API's stream, or a complete response that was not streamed. */
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
  return payload.trim() === '[DONE]' ? { type: 'done' } : parseFrame(payload);
}

export const INCOMPLETE_REASONS: Readonly<Record<string, StopReason>> = {
  max_output_tokens: 'max-tokens',
  max_tokens: 'max-tokens',
  content_filter: 'content-filter',
};

/** Events that report progress of an item, or repeat the content of earlier deltas. */
export const IGNORED_EVENTS: ReadonlySet<string> = new Set([
  'response.in_progress',
  'response.queued',
  'response.output_text.annotation.added',
  'response.reasoning_summary_text.done',
  'response.reasoning_text.done',
  'response.reasoning_summary_part.done',
]);

/** Whether the event reports progress of a tool that the provider runs, such as `response.web_search_call.searching`. */
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

/** All ids by which later events may refer to an item. */
export function itemIds(item: JsonObject): readonly string[] {
  return [stringOf(item.id), stringOf(item.call_id)].filter((id) => id !== '');
}

/** Fields that only some calls have (a namespace, the calling program). They must be sent back. */
export function extraFields(item: JsonObject): JsonObject {
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

/** Whether the response lists its tools and the provider runs all of them. */
export function hasOnlyProviderTools(tools: unknown): boolean {
  const types = arrayOf(tools).map((tool) => stringOf(objectOf(tool).type));
  return types.length > 0 && !types.some((type) => CLIENT_TOOLS.has(type));
}

const CLIENT_TOOLS: ReadonlySet<string> = new Set(['function', 'custom', 'namespace', 'tool_search']);
