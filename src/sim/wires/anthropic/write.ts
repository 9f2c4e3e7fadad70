import { arrayOf, type JsonObject, stringOf } from '../../../base/index.ts';
import { encodeSse } from '../../../wire/index.ts';
import type { Stop } from '../../script/answer.ts';
import { argumentsOf, type Reply, type ReplyPart } from '../../script/reply.ts';
import { type Stroke, strokes } from '../../script/reply-steps.ts';
import type { Context, Frame } from '../wire.ts';

/** The Messages API's stream: named events, numbered content blocks. */
export function* frames(reply: Reply, context: Context): Generator<Frame> {
  const head = { ...messageHead(context), content: [], stop_reason: null, stop_sequence: null };
  yield event({
    type: 'message_start',
    message: { ...head, usage: { ...usageOf(reply), output_tokens: 1 } },
  });
  yield event({ type: 'ping' });
  for (const stroke of strokes(reply)) yield* spell(stroke);
  yield event({ type: 'message_delta', delta: stopOf(reply, context), usage: usageOf(reply) }, 'finish');
  yield event({ type: 'message_stop' }, 'finish');
}

/** The same message in one piece. */
export function whole(reply: Reply, context: Context): JsonObject {
  const content = reply.parts.map(wholeBlock);
  return { ...messageHead(context), content, ...stopOf(reply, context), usage: usageOf(reply) };
}

function* spell(stroke: Stroke): Generator<Frame> {
  const { index, part } = stroke;
  if (stroke.type === 'delta') {
    if (part.type !== 'redacted') yield delta(index, GROW[part.type](stroke.text), 'delta');
    return;
  }
  if (stroke.type === 'open') {
    yield event({ type: 'content_block_start', index, content_block: emptyBlock(part) });
    // The real API opens a call's arguments with an empty fragment; without arguments it is the only one.
    if (part.type === 'call') yield delta(index, GROW.call(''), 'other');
    return;
  }
  if (part.type === 'thinking') {
    yield delta(index, { type: 'signature_delta', signature: part.signature }, 'other');
  }
  yield event({ type: 'content_block_stop', index });
}

const GROW: Record<Exclude<ReplyPart['type'], 'redacted'>, (text: string) => JsonObject> = {
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

function wholeBlock(part: ReplyPart): JsonObject {
  if (part.type === 'thinking') return { type: 'thinking', thinking: part.text, signature: part.signature };
  if (part.type === 'redacted') return emptyBlock(part);
  if (part.type === 'call') return { ...emptyBlock(part), input: argumentsOf(part) };
  return { type: 'text', text: part.text };
}

function messageHead({ id, request }: Context): JsonObject {
  return { id, type: 'message', role: 'assistant', model: request.model };
}

function stopOf(reply: Reply, { request }: Context): JsonObject {
  const asked = stringOf(arrayOf(request.body['stop_sequences'])[0]);
  return { stop_reason: STOPS[reply.stop], stop_sequence: reply.stop === 'stop-sequence' ? asked : null };
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

/** Anthropic counts what came from and went to its cache apart from `input_tokens`. */
function usageOf({ usage }: Reply): JsonObject {
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
