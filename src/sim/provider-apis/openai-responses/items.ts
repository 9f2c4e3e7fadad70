import { arrayOf, type JsonObject } from '../../../base/index.ts';
import type { ReplyPart } from '../../script/reply.ts';
import type { ResponseContext } from '../provider-api.ts';

/** One entry of a response's `output`, when it opens and when it is complete. */
export interface OutputItem {
  readonly id: string;
  readonly opened: JsonObject;
  readonly done: JsonObject;
}

/** Converts a part to an output item with an id from the context. */
export function outputItem(part: ReplyPart, context: ResponseContext): OutputItem {
  if (part.type === 'call') return callItem(part, context.ids.next('fc_'));
  if (part.type === 'thinking') {
    const summary = [{ type: 'summary_text', text: part.text }];
    return reasoningItem(context, part.signature, summary);
  }
  if (part.type === 'redacted') return reasoningItem(context, part.text, []);
  return messageItem(context.ids.next('msg_'), contentPart(part.type, part.text));
}

/** Returns the content of a message: text, or a refusal in a separate field. */
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

function reasoningItem(
  context: ResponseContext,
  encryptedContent: string,
  summary: readonly JsonObject[],
): OutputItem {
  const id = context.ids.next('rs_');
  const includeEncrypted = arrayOf(context.request.body['include']).includes('reasoning.encrypted_content');
  const item = {
    id,
    type: 'reasoning',
    ...(includeEncrypted ? { encrypted_content: encryptedContent } : {}),
  };
  return { id, opened: { ...item, summary: [] }, done: { ...item, summary } };
}
