import type { JsonObject } from '../../../base/index.ts';
import type { Stop } from '../../script/answer.ts';
import { callArguments, type Reply, type ReplyCall } from '../../script/reply.ts';
import { type ReplyStep, replySteps } from '../../script/reply-steps.ts';
import type { ResponseContext, Frame } from '../provider-api.ts';

/** Streams JSON lines. Calls arrive complete, and the last line carries the usage. */
export function* frames(reply: Reply, context: ResponseContext): Generator<Frame> {
  const numbered = reply.parts.filter((part) => part.type === 'call');
  let calls: JsonObject[] = [];
  for (const step of replySteps(reply)) {
    if (step.part.type !== 'call') {
      const message = encodeStep(step);
      if (message !== undefined) yield line(context, message);
      continue;
    }
    if (step.type !== 'close') continue;
    calls.push(fullCall(step.part, numbered.indexOf(step.part)));
    // Calls that other APIs interleave arrive in one line here.
    if (reply.interleave && reply.parts[step.index + 1]?.type === 'call') continue;
    yield line(context, { content: '', tool_calls: calls });
    calls = [];
  }
  const last = { ...responseFields(context, { content: '' }), ...endFields(reply) };
  yield { role: 'finish', text: `${JSON.stringify(last)}\n` };
}

/** Returns the complete response without streaming. */
export function fullResponse(reply: Reply, context: ResponseContext): JsonObject {
  const thinking = joinText(reply, ['thinking']);
  const calls = reply.parts.filter((part) => part.type === 'call');
  const message = {
    content: joinText(reply, ['text', 'refusal']),
    ...(thinking === '' ? {} : { thinking }),
    ...(calls.length === 0 ? {} : { tool_calls: calls.map(fullCall) }),
  };
  return { ...responseFields(context, message), ...endFields(reply) };
}

function encodeStep(step: ReplyStep): JsonObject | undefined {
  if (step.type !== 'delta' || step.part.type === 'redacted') return undefined;
  return step.part.type === 'thinking' ? { content: '', thinking: step.text } : { content: step.text };
}

function fullCall(call: ReplyCall, index: number): JsonObject {
  return { id: call.id, function: { index, name: call.name, arguments: callArguments(call) } };
}

function line(context: ResponseContext, message: JsonObject): Frame {
  return { role: 'delta', text: `${JSON.stringify({ ...responseFields(context, message), done: false })}\n` };
}

function responseFields({ request, now }: ResponseContext, message: JsonObject): JsonObject {
  const created_at = new Date(now).toISOString();
  return { model: request.model, created_at, message: { role: 'assistant', ...message } };
}

function endFields({ usage, stop }: Reply): JsonObject {
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

function joinText(reply: Reply, kinds: readonly string[]): string {
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
