import { arrayOf, type JsonObject, stringOf } from '../../../base/index.ts';
import { encodeSse } from '../../../wire/index.ts';
import type { Stop } from '../../script/answer.ts';
import { callArguments, type Reply, type ReplyPart } from '../../script/reply.ts';
import { type ReplyStep, replySteps } from '../../script/reply-steps.ts';
import type { ResponseContext, Frame } from '../provider-api.ts';

/** Streams named events with numbered content blocks. */
export function* frames(reply: Reply, context: ResponseContext): Generator<Frame> {
  const head = { ...messageHead(context), content: [], stop_reason: null, stop_sequence: null };
  yield event({
    type: 'message_start',
    message: { ...head, usage: { ...encodeUsage(reply), output_tokens: 1 } },
  });
  yield event({ type: 'ping' });
  for (const step of replySteps(reply)) yield* encodeStep(step);
  yield event(
    { type: 'message_delta', delta: stopFields(reply, context), usage: encodeUsage(reply) },
    'finish',
  );
  yield event({ type: 'message_stop' }, 'finish');
}

/** Returns the complete message without streaming. */
export function fullResponse(reply: Reply, context: ResponseContext): JsonObject {
  const content = reply.parts.map(fullBlock);
  return { ...messageHead(context), content, ...stopFields(reply, context), usage: encodeUsage(reply) };
}

function* encodeStep(step: ReplyStep): Generator<Frame> {
  const { index, part } = step;
  if (step.type === 'delta') {
    if (part.type !== 'redacted') yield delta(index, DELTAS[part.type](step.text), 'delta');
    return;
  }
  if (step.type === 'open') {
    yield event({ type: 'content_block_start', index, content_block: emptyBlock(part) });
    // The real API opens a call's arguments with an empty fragment, the only one for a call without arguments.
    if (part.type === 'call') yield delta(index, DELTAS.call(''), 'other');
    return;
  }
  if (part.type === 'thinking') {
    yield delta(index, { type: 'signature_delta', signature: part.signature }, 'other');
  }
  yield event({ type: 'content_block_stop', index });
}

const DELTAS: Record<Exclude<ReplyPart['type'], 'redacted'>, (text: string) => JsonObject> = {
  text: (text) => ({ type: 'text_delta', text }),
  refusal: (text) => ({ type: 'text_delta', text }),
  thinking: (thinking) => ({ type: 'thinking_delta', thinking }),
  call: (json) => ({ type: 'input_json_delta', partial_json: json }),
};

function emptyBlock(part: ReplyPart): JsonObject {
  if (part.type === 'thinking') return { type: 'thinking', thinking: '', signature: '' };
  if (part.type === 'redacted') return { type: 'redacted_thinking', data: part.text };
  if (part.type === 'call') return { type: 'tool_use', id: part.id, name: part.name, input: {} };
  return { type: 'text', text: '' };
}

function fullBlock(part: ReplyPart): JsonObject {
  if (part.type === 'thinking') return { type: 'thinking', thinking: part.text, signature: part.signature };
  if (part.type === 'redacted') return emptyBlock(part);
  if (part.type === 'call') return { ...emptyBlock(part), input: callArguments(part) };
  return { type: 'text', text: part.text };
}

function messageHead({ id, request }: ResponseContext): JsonObject {
  return { id, type: 'message', role: 'assistant', model: request.model };
}

function stopFields(reply: Reply, { request }: ResponseContext): JsonObject {
  const stopSequence = stringOf(arrayOf(request.body['stop_sequences'])[0]);
  return {
    stop_reason: STOPS[reply.stop],
    stop_sequence: reply.stop === 'stop-sequence' ? stopSequence : null,
  };
}

const STOPS: Record<Stop, string> = {
  'end-turn': 'end_turn',
  'max-tokens': 'max_tokens',
  'stop-sequence': 'stop_sequence',
  'tool-use': 'tool_use',
  'pause-turn': 'pause_turn',
  refusal: 'refusal',
  'content-filter': 'refusal',
  'context-full': 'model_context_window_exceeded',
  'malformed-call': 'end_turn',
};

/** Anthropic counts cache reads and writes separately from `input_tokens`. */
function encodeUsage({ usage }: Reply): JsonObject {
  return {
    input_tokens: usage.inputTokens - usage.cacheReadInputTokens - usage.cacheCreationInputTokens,
    cache_creation_input_tokens: usage.cacheCreationInputTokens,
    cache_read_input_tokens: usage.cacheReadInputTokens,
    output_tokens: usage.outputTokens,
  };
}

function delta(index: number, content: JsonObject, role: Frame['role']): Frame {
  return event({ type: 'content_block_delta', index, delta: content }, role);
}

function event(payload: JsonObject & { readonly type: string }, role: Frame['role'] = 'other'): Frame {
  return { role, text: encodeSse(JSON.stringify(payload), payload.type) };
}
