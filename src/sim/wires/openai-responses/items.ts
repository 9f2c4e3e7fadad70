import { arrayOf, type JsonObject } from '../../../base/index.ts';
import type { ReplyPart } from '../../script/reply.ts';
import type { Context } from '../wire.ts';

/** One entry of a response's `output`: how it looks when it opens and when it is whole. */
export interface OutputItem {
  readonly id: string;
  readonly opened: JsonObject;
  readonly done: JsonObject;
}

/** The part as an output item; its id is taken from the context. */
export function outputItem(part: ReplyPart, context: Context): OutputItem {
  if (part.type === 'call') return callItem(part, context.ids.next('fc_'));
  if (part.type === 'thinking') {
    const summary = [{ type: 'summary_text', text: part.text }];
    return reasoningItem(context, part.signature, summary);
  }
  if (part.type === 'redacted') return reasoningItem(context, part.text, []);
  return messageItem(context.ids.next('msg_'), contentPart(part.type, part.text));
}

/** What a message consists of: text, or a refusal in its own field. */
export function contentPart(type: 'text' | 'refusal', text: string): JsonObject {
  if (type === 'refusal') return { type: 'refusal', refusal: text };
  return { type: 'output_text', annotations: [], logprobs: [], text };
}

function messageItem(id: string, content: JsonObject): OutputItem {
  const item = { id, type: 'message', role: 'assistant' };
  return {
    id,
    opened: { ...item, status: 'in_progress', content: [] },
    done: { ...item, status: 'completed', content: [content] },
  };
}

function callItem(part: Extract<ReplyPart, { type: 'call' }>, id: string): OutputItem {
  const item = { id, type: 'function_call', call_id: part.id, name: part.name };
  return {
    id,
    opened: { ...item, status: 'in_progress', arguments: '' },
    done: { ...item, status: 'completed', arguments: part.text ?? '{}' },
  };
}

function reasoningItem(context: Context, sealed: string, summary: readonly JsonObject[]): OutputItem {
  const id = context.ids.next('rs_');
  const asked = arrayOf(context.request.body['include']).includes('reasoning.encrypted_content');
  const item = { id, type: 'reasoning', ...(asked ? { encrypted_content: sealed } : {}) };
  return { id, opened: { ...item, summary: [] }, done: { ...item, summary } };
}
