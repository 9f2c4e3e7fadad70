import type { JsonObject } from '../../../base/index.ts';
import type { Stop } from '../../script/answer.ts';
import { argumentsOf, type Reply, type ReplyCall } from '../../script/reply.ts';
import { type Stroke, strokes } from '../../script/reply-steps.ts';
import type { Context, Frame } from '../wire.ts';

/** Ollama's stream: one JSON line after another; calls come whole, the last line counts. */
export function* frames(reply: Reply, context: Context): Generator<Frame> {
  const numbered = reply.parts.filter((part) => part.type === 'call');
  let calls: JsonObject[] = [];
  for (const stroke of strokes(reply)) {
    if (stroke.part.type !== 'call') {
      const message = spell(stroke);
      if (message !== undefined) yield line(context, message);
      continue;
    }
    if (stroke.type !== 'close') continue;
    calls.push(wholeCall(stroke.part, numbered.indexOf(stroke.part)));
    // Calls that grow side by side on other wires come in one line here.
    if (reply.interleave && reply.parts[stroke.index + 1]?.type === 'call') continue;
    yield line(context, { content: '', tool_calls: calls });
    calls = [];
  }
  const last = { ...answerOf(context, { content: '' }), ...endOf(reply) };
  yield { role: 'finish', text: `${JSON.stringify(last)}\n` };
}

/** The same answer in one piece. */
export function whole(reply: Reply, context: Context): JsonObject {
  const thinking = joined(reply, ['thinking']);
  const calls = reply.parts.filter((part) => part.type === 'call');
  const message = {
    content: joined(reply, ['text', 'refusal']),
    ...(thinking === '' ? {} : { thinking }),
    ...(calls.length === 0 ? {} : { tool_calls: calls.map(wholeCall) }),
  };
  return { ...answerOf(context, message), ...endOf(reply) };
}

function spell(stroke: Stroke): JsonObject | undefined {
  if (stroke.type !== 'delta' || stroke.part.type === 'redacted') return undefined;
  return stroke.part.type === 'thinking' ? { content: '', thinking: stroke.text } : { content: stroke.text };
}

function wholeCall(call: ReplyCall, index: number): JsonObject {
  return { id: call.id, function: { index, name: call.name, arguments: argumentsOf(call) } };
}

function line(context: Context, message: JsonObject): Frame {
  return { role: 'delta', text: `${JSON.stringify({ ...answerOf(context, message), done: false })}\n` };
}

function answerOf({ request, now }: Context, message: JsonObject): JsonObject {
  const created_at = new Date(now).toISOString();
  return { model: request.model, created_at, message: { role: 'assistant', ...message } };
}

function endOf({ usage, stop }: Reply): JsonObject {
  return {
    done: true,
    done_reason: STOPS[stop],
    total_duration: 1_000_000,
    load_duration: 1_000,
    prompt_eval_count: usage.inputTokens,
    prompt_eval_duration: 1_000,
    eval_count: usage.outputTokens,
    eval_duration: 1_000,
  };
}

function joined(reply: Reply, kinds: readonly string[]): string {
  return reply.parts
    .filter((part) => kinds.includes(part.type))
    .map((part) => part.text ?? '')
    .join('');
}

const STOPS: Record<Stop, string> = {
  'end-turn': 'stop',
  'max-tokens': 'length',
  'stop-sequence': 'stop',
  'tool-use': 'stop',
  'pause-turn': 'stop',
  refusal: 'stop',
  'content-filter': 'stop',
  'context-full': 'length',
  'malformed-call': 'stop',
};
