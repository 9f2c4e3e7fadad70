import type { JsonObject } from '../../../base/index.ts';
import { encodeSse } from '../../../wire/index.ts';
import type { Reply, ReplyPart } from '../../script/reply.ts';
import { type Stroke, strokes } from '../../script/reply-steps.ts';
import type { Context, Frame } from '../wire.ts';
import { contentPart, type OutputItem, outputItem } from './items.ts';
import { responseEnd, responseHead } from './response.ts';

/** The Responses stream: named, numbered events; every item and part is announced, grows, and is said again whole. */
export function* frames(reply: Reply, context: Context): Generator<Frame> {
  const event = eventWriter(0);
  const head = responseHead(context);
  const items = reply.parts.map((part) => outputItem(part, context));
  yield event('response.created', { response: head });
  yield event('response.in_progress', { response: head });
  for (const stroke of strokes(reply)) {
    const item = items[stroke.index];
    if (item === undefined) continue;
    for (const [type, payload, role] of spell(stroke, item)) {
      yield event(type, { output_index: stroke.index, ...payload }, role);
    }
  }
  const end = responseEnd(
    reply,
    items.map((item) => item.done),
  );
  yield event(`response.${String(end['status'])}`, { response: { ...head, ...end } }, 'finish');
}

/** The same response in one piece. */
export function whole(reply: Reply, context: Context): JsonObject {
  const output = reply.parts.map((part) => outputItem(part, context).done);
  return { ...responseHead(context), ...responseEnd(reply, output) };
}

/** An error inside the stream is said twice: as an event of its own, and by the failed response. */
export function breakOff(context: Context, sent: number): string {
  const event = eventWriter(sent);
  const error = { code: 'server_error', message: FAILED };
  const response = { ...responseHead(context), status: 'failed', error };
  const said = { type: 'server_error', ...error, param: null };
  return event('error', { error: said }).text + event('response.failed', { response }).text;
}

type Said = readonly [type: string, payload: JsonObject, role?: Frame['role']];

function spell(stroke: Stroke, item: OutputItem): readonly Said[] {
  const { part } = stroke;
  if (stroke.type === 'delta') {
    const delta = { item_id: item.id, ...place(part), delta: stroke.text, ...logged(part) };
    return [[`${GROWTH[part.type]}.delta`, delta, 'delta']];
  }
  return stroke.type === 'open'
    ? [['response.output_item.added', { item: item.opened }], ...opened(part, item.id)]
    : [...closed(part, item.id), ['response.output_item.done', { item: item.done }]];
}

const GROWTH: Record<ReplyPart['type'], string> = {
  text: 'response.output_text',
  refusal: 'response.refusal',
  thinking: 'response.reasoning_summary_text',
  call: 'response.function_call_arguments',
  redacted: 'response.reasoning_text',
};

function opened(part: ReplyPart, id: string): readonly Said[] {
  if (part.type === 'call' || part.type === 'redacted') return [];
  return [[`response.${partName(part)}.added`, { item_id: id, ...place(part), part: inner(part, '') }]];
}

function closed(part: ReplyPart, id: string): readonly Said[] {
  const at = { item_id: id, ...place(part) };
  if (part.type === 'redacted') return [];
  if (part.type === 'call') {
    const text = part.text ?? '{}';
    const only: readonly Said[] = [
      ['response.function_call_arguments.delta', { ...at, delta: text }, 'delta'],
    ];
    const done: Said = ['response.function_call_arguments.done', { ...at, name: part.name, arguments: text }];
    return part.text === undefined ? [...only, done] : [done];
  }
  const said = part.type === 'refusal' ? { refusal: part.text } : { text: part.text, ...logged(part) };
  return [
    [`${GROWTH[part.type]}.done`, { ...at, ...said }],
    [`response.${partName(part)}.done`, { ...at, part: inner(part, part.text) }],
  ];
}

function partName(part: ReplyPart): string {
  return part.type === 'thinking' ? 'reasoning_summary_part' : 'content_part';
}

function inner(part: Exclude<ReplyPart, { type: 'call' | 'redacted' }>, text: string): JsonObject {
  return part.type === 'thinking' ? { type: 'summary_text', text } : contentPart(part.type, text);
}

function place(part: ReplyPart): JsonObject {
  if (part.type === 'call') return {};
  return part.type === 'thinking' ? { summary_index: 0 } : { content_index: 0 };
}

function logged(part: ReplyPart): JsonObject {
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
