import { type JsonObject, objectOf } from '../../../base/index.ts';
import { encodeSse } from '../../../wire/index.ts';
import type { Stop } from '../../script/answer.ts';
import type { Reply, ReplyCall, ReplyPart } from '../../script/reply.ts';
import { type ReplyStep, replySteps } from '../../script/reply-steps.ts';
import type { ResponseContext, Frame } from '../provider-api.ts';

/** Streams unnamed chunks with numbered calls and `[DONE]` at the end. */
export function* frames(reply: Reply, context: ResponseContext): Generator<Frame> {
  const chunk = chunkWriter(context);
  const calls = reply.parts.filter((part) => part.type === 'call');
  yield chunk([choice({ role: 'assistant', content: '', refusal: null })]);
  for (const step of replySteps(reply)) {
    const delta = encodeStep(step, calls);
    if (delta === undefined) continue;
    yield chunk([choice(delta)], step.type === 'delta' ? 'delta' : 'other');
  }
  yield chunk([choice({}, STOPS[reply.stop])], 'finish');
  if (wantsUsage(context)) yield chunk([], 'finish', encodeUsage(reply));
  yield { role: 'finish', text: encodeSse('[DONE]') };
}

/** Returns the complete response without streaming. */
export function fullResponse(reply: Reply, context: ResponseContext): JsonObject {
  const thinking = joinText(reply, 'thinking');
  const calls = reply.parts.filter((part) => part.type === 'call');
  const message = {
    role: 'assistant',
    content: joinText(reply, 'text'),
    refusal: joinText(reply, 'refusal'),
    ...(thinking === null ? {} : { reasoning_content: thinking }),
    ...(calls.length === 0 ? {} : { tool_calls: calls.map((call) => toolCall(call, call.text ?? '{}')) }),
  };
  const only = { index: 0, message, logprobs: null, finish_reason: STOPS[reply.stop] };
  return { ...head(context, 'chat.completion'), choices: [only], usage: encodeUsage(reply) };
}

function encodeStep(step: ReplyStep, calls: readonly ReplyCall[]): JsonObject | undefined {
  const { part } = step;
  if (part.type !== 'call') return step.type === 'delta' ? DELTAS[part.type](step.text) : undefined;
  const index = calls.indexOf(part);
  if (step.type === 'delta') return fragment(index, step.text);
  // A call without arguments still gets `{}`: the real API never leaves the text empty.
  if (step.type === 'close') return part.text === undefined ? fragment(index, '{}') : undefined;
  return { tool_calls: [{ index, ...toolCall(part, '') }] };
}

const DELTAS: Record<Exclude<ReplyPart['type'], 'call'>, (text: string) => JsonObject | undefined> = {
  text: (content) => ({ content }),
  refusal: (refusal) => ({ refusal }),
  // The field of DeepSeek, xAI, Moonshot and others; OpenAI's own models do not return their reasoning here.
  thinking: (text) => ({ reasoning_content: text }),
  redacted: () => undefined,
};

function fragment(index: number, text: string): JsonObject {
  return { tool_calls: [{ index, function: { arguments: text } }] };
}

function toolCall(call: ReplyCall, text: string): JsonObject {
  return { id: call.id, type: 'function', function: { name: call.name, arguments: text } };
}

function choice(delta: JsonObject, reason: string | null = null): JsonObject {
  return { index: 0, delta, logprobs: null, finish_reason: reason };
}

function chunkWriter(context: ResponseContext) {
  const opening = head(context, 'chat.completion.chunk');
  const withUsage = wantsUsage(context);
  return (
    choices: readonly JsonObject[],
    role: Frame['role'] = 'other',
    usage: JsonObject | null = null,
  ): Frame => {
    const payload = { ...opening, choices, ...(withUsage ? { usage } : {}) };
    return { role, text: encodeSse(JSON.stringify(payload)) };
  };
}

function head({ id, now, request }: ResponseContext, object: string): JsonObject {
  return { id, object, created: Math.floor(now / 1000), model: request.model };
}

function wantsUsage({ request }: ResponseContext): boolean {
  return objectOf(request.body['stream_options'])['include_usage'] === true;
}

function joinText(reply: Reply, type: 'text' | 'thinking' | 'refusal'): string | null {
  const texts = reply.parts.filter((part) => part.type === type).map((part) => part.text);
  return texts.length === 0 ? null : texts.join('');
}

const STOPS: Record<Stop, string> = {
  'end-turn': 'stop',
  'max-tokens': 'length',
  'stop-sequence': 'stop',
  'tool-use': 'tool_calls',
  'pause-turn': 'stop',
  refusal: 'stop',
  'content-filter': 'content_filter',
  'context-full': 'length',
  'malformed-call': 'stop',
};

function encodeUsage({ usage }: Reply): JsonObject {
  return {
    prompt_tokens: usage.inputTokens,
    completion_tokens: usage.outputTokens,
    total_tokens: usage.inputTokens + usage.outputTokens,
    prompt_tokens_details: { cached_tokens: usage.cacheReadInputTokens },
    completion_tokens_details: { reasoning_tokens: usage.reasoningTokens },
  };
}
