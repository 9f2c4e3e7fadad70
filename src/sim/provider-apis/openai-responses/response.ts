import { arrayOf, type JsonObject, objectOf } from '../../../base/index.ts';
import type { Stop } from '../../script/answer.ts';
import type { Reply } from '../../script/reply.ts';
import type { ResponseContext } from '../provider-api.ts';

/** Returns the response fields that every event repeats, without status and output. */
export function responseHead({ id, now, request }: ResponseContext): JsonObject {
  const { body } = request;
  return {
    id,
    object: 'response',
    created_at: Math.floor(now / 1000),
    status: 'in_progress',
    background: false,
    error: null,
    incomplete_details: null,
    instructions: body['instructions'] ?? null,
    max_output_tokens: body['max_output_tokens'] ?? null,
    model: request.model,
    output: [],
    parallel_tool_calls: body['parallel_tool_calls'] ?? true,
    previous_response_id: body['previous_response_id'] ?? null,
    reasoning: { effort: null, summary: null, ...objectOf(body['reasoning']) },
    store: body['store'] ?? true,
    temperature: body['temperature'] ?? 1,
    text: { format: { type: 'text' } },
    tool_choice: body['tool_choice'] ?? 'auto',
    tools: arrayOf(body['tools']),
    top_p: body['top_p'] ?? 1,
    truncation: 'disabled',
    usage: null,
    metadata: {},
  };
}

/** Returns the fields of a finished response, to merge over `responseHead`. */
export function responseEnd(reply: Reply, output: readonly JsonObject[]): JsonObject {
  const reason = INCOMPLETE[reply.stop];
  return {
    status: reason === undefined ? 'completed' : 'incomplete',
    incomplete_details: reason === undefined ? null : { reason },
    output,
    usage: encodeUsage(reply),
  };
}

/** The Responses API has no stop reasons: a response is complete, or has a reason why it is not. */
const INCOMPLETE: Partial<Record<Stop, string>> = {
  'max-tokens': 'max_output_tokens',
  'context-full': 'max_output_tokens',
  'content-filter': 'content_filter',
};

function encodeUsage({ usage }: Reply): JsonObject {
  return {
    input_tokens: usage.inputTokens,
    input_tokens_details: { cached_tokens: usage.cacheReadInputTokens },
    output_tokens: usage.outputTokens,
    output_tokens_details: { reasoning_tokens: usage.reasoningTokens },
    total_tokens: usage.inputTokens + usage.outputTokens,
  };
}
