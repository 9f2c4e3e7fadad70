import type { JsonObject } from '../../../base/index.ts';
import { encodeSse } from '../../../wire/index.ts';
import type { Reply, ReplyPart } from '../../script/reply.ts';
import { type ReplyStep, replySteps } from '../../script/reply-steps.ts';
import type { ResponseContext, Frame } from '../provider-api.ts';
import { contentPart, type OutputItem, outputItem } from './items.ts';
import { responseEnd, responseHead } from './response.ts';

/** Streams named, numbered events: every item and part is opened, grows, and is repeated when complete. */
export function* frames(reply: Reply, context: ResponseContext): Generator<Frame> {
  const event = eventWriter(0);
  const head = responseHead(context);
  const items = reply.parts.map((part) => outputItem(part, context));
  yield event('response.created', { response: head });
  yield event('response.in_progress', { response: head });
  for (const step of replySteps(reply)) {
    const item = items[step.index];
    if (item === undefined) continue;
    for (const [type, payload, role] of encodeStep(step, item)) {
      yield event(type, { output_index: step.index, ...payload }, role);
    }
  }
  const end = responseEnd(
    reply,
    items.map((item) => item.done),
  );
  yield event(`response.${String(end['status'])}`, { response: { ...head, ...end } }, 'finish');
}

/** Returns the complete response without streaming. */
export function fullResponse(reply: Reply, context: ResponseContext): JsonObject {
  const output = reply.parts.map((part) => outputItem(part, context).done);
  return { ...responseHead(context), ...responseEnd(reply, output) };
}

/** An error inside the stream is sent twice: as its own event and in the failed response. */
export function streamError(context: ResponseContext, sent: number): string {
  const event = eventWriter(sent);
  const error = { code: 'server_error', message: FAILED };
  const response = { ...responseHead(context), status: 'failed', error };
  const payload = { type: 'server_error', ...error, param: null };
  return event('error', { error: payload }).text + event('response.failed', { response }).text;
}

type EventFields = readonly [type: string, payload: JsonObject, role?: Frame['role']];

function encodeStep(step: ReplyStep, item: OutputItem): readonly EventFields[] {
  const { part } = step;
  if (step.type === 'delta') {
    const delta = { item_id: item.id, ...partPosition(part), delta: step.text, ...logprobs(part) };
    return [[`${DELTA_EVENTS[part.type]}.delta`, delta, 'delta']];
  }
  return step.type === 'open'
    ? [['response.output_item.added', { item: item.opened }], ...openEvents(part, item.id)]
    : [...closeEvents(part, item.id), ['response.output_item.done', { item: item.done }]];
}

const DELTA_EVENTS: Record<ReplyPart['type'], string> = {
  text: 'response.output_text',
  refusal: 'response.refusal',
  thinking: 'response.reasoning_summary_text',
  call: 'response.function_call_arguments',
  redacted: 'response.reasoning_text',
};

function openEvents(part: ReplyPart, id: string): readonly EventFields[] {
  if (part.type === 'call' || part.type === 'redacted') return [];
  return [
    [`response.${partName(part)}.added`, { item_id: id, ...partPosition(part), part: innerPart(part, '') }],
  ];
}

function closeEvents(part: ReplyPart, id: string): readonly EventFields[] {
  const position = { item_id: id, ...partPosition(part) };
  if (part.type === 'redacted') return [];
  if (part.type === 'call') {
    const text = part.text ?? '{}';
    const only: readonly EventFields[] = [
      ['response.function_call_arguments.delta', { ...position, delta: text }, 'delta'],
    ];
    const done: EventFields = [
      'response.function_call_arguments.done',
      { ...position, name: part.name, arguments: text },
    ];
    return part.text === undefined ? [...only, done] : [done];
  }
  const payload = part.type === 'refusal' ? { refusal: part.text } : { text: part.text, ...logprobs(part) };
  return [
    [`${DELTA_EVENTS[part.type]}.done`, { ...position, ...payload }],
    [`response.${partName(part)}.done`, { ...position, part: innerPart(part, part.text) }],
  ];
}

function partName(part: ReplyPart): string {
  return part.type === 'thinking' ? 'reasoning_summary_part' : 'content_part';
}

function innerPart(part: Exclude<ReplyPart, { type: 'call' | 'redacted' }>, text: string): JsonObject {
  return part.type === 'thinking' ? { type: 'summary_text', text } : contentPart(part.type, text);
}

function partPosition(part: ReplyPart): JsonObject {
  if (part.type === 'call') return {};
  return part.type === 'thinking' ? { summary_index: 0 } : { content_index: 0 };
}

function logprobs(part: ReplyPart): JsonObject {
  return part.type === 'text' ? { logprobs: [] } : {};
}

function eventWriter(from: number) {
  let sequence = from;
  return (type: string, payload: JsonObject, role: Frame['role'] = 'other'): Frame => {
    const text = encodeSse(JSON.stringify({ type, sequence_number: sequence, ...payload }), type);
    sequence += 1;
    return { role, text };
  };
}

const FAILED = 'The server had an error processing your request. Sorry about that!';
