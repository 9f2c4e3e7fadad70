import type { JsonObject } from '../base/index.ts';
import type { ProviderApi } from '../llm/index.ts';

export const PROVIDER_APIS = [
  'anthropic',
  'openai-chat',
  'openai-responses',
  'gemini',
  'ollama',
  'bedrock',
] as const satisfies readonly ProviderApi[];
export type ProviderApiName = (typeof PROVIDER_APIS)[number];

/** A request in one shape for all provider APIs. */
export interface SimRequest {
  readonly api: ProviderApiName;
  readonly model: string;
  readonly stream: boolean;
  readonly system: string;
  readonly messages: readonly SimMessage[];
  readonly tools: readonly SimTool[];
  /** The original body, for fields that this shape omits. */
  readonly body: JsonObject;
}

export interface SimMessage {
  readonly role: 'user' | 'assistant' | 'tool';
  readonly text: string;
  /** Only with the role `assistant`. */
  readonly toolCalls: readonly SimCall[];
  /** Only with the role `tool`. */
  readonly toolResults: readonly SimResult[];
}

export interface SimCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: unknown;
}

export interface SimResult {
  /** '' if the provider API identifies results by name or order only. */
  readonly id: string;
  readonly name: string;
  readonly text: string;
  readonly isError: boolean;
}

export interface SimTool {
  readonly name: string;
  /** JSON Schema of the arguments. */
  readonly parameters: JsonObject;
}

/** One part of a message, as parsed from any provider API. */
export type MessagePart =
  | { readonly role: 'user' | 'assistant'; readonly text: string }
  | { readonly role: 'assistant'; readonly call: SimCall }
  | { readonly role: 'tool'; readonly result: SimResult };

/**
 * Merges adjacent parts of one role into one message: some APIs send a turn as one message, others as many
 * items.
 */
export function groupMessages(parts: Iterable<MessagePart>): readonly SimMessage[] {
  const messages: SimMessage[] = [];
  for (const part of parts) {
    const last = messages.at(-1);
    if (last === undefined || last.role !== part.role) messages.push(add(emptyMessage(part.role), part));
    else messages[messages.length - 1] = add(last, part);
  }
  return messages;
}

/** Returns the text of the last user message. */
export function lastUserText(request: SimRequest): string {
  return request.messages.findLast((message) => message.role === 'user')?.text ?? '';
}

function emptyMessage(role: SimMessage['role']): SimMessage {
  return { role, text: '', toolCalls: [], toolResults: [] };
}

function add(message: SimMessage, part: MessagePart): SimMessage {
  if ('call' in part) return { ...message, toolCalls: [...message.toolCalls, part.call] };
  if ('result' in part) return { ...message, toolResults: [...message.toolResults, part.result] };
  return { ...message, text: message.text === '' ? part.text : `${message.text}\n${part.text}` };
}
