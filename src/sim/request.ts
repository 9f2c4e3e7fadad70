import type { JsonObject } from '../base/index.ts';

export const WIRES = ['anthropic', 'openai-chat', 'openai-responses', 'gemini', 'ollama'] as const;
export type WireName = (typeof WIRES)[number];

/** What a client asked, the same whichever wire it came by. */
export interface SimRequest {
  readonly wire: WireName;
  readonly model: string;
  readonly stream: boolean;
  readonly system: string;
  readonly messages: readonly SimMessage[];
  readonly tools: readonly SimTool[];
  /** The body as it came, for what this vocabulary leaves out. */
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
  /** '' where the wire tells results apart by name or by order only. */
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

/** One piece of a conversation, as the wires' readers find them. */
export type GatheredText =
  | { readonly role: 'user' | 'assistant'; readonly text: string }
  | { readonly role: 'assistant'; readonly call: SimCall }
  | { readonly role: 'tool'; readonly result: SimResult };

/** Neighbours of one role become one message: some wires send a turn as one message, some as many items. */
export function gather(pieces: Iterable<GatheredText>): readonly SimMessage[] {
  const messages: SimMessage[] = [];
  for (const piece of pieces) {
    const last = messages.at(-1);
    if (last === undefined || last.role !== piece.role) messages.push(add(emptyMessage(piece.role), piece));
    else messages[messages.length - 1] = add(last, piece);
  }
  return messages;
}

/** The text of the last thing a person said. */
export function lastUserText(request: SimRequest): string {
  return request.messages.findLast((message) => message.role === 'user')?.text ?? '';
}

function emptyMessage(role: SimMessage['role']): SimMessage {
  return { role, text: '', toolCalls: [], toolResults: [] };
}

function add(message: SimMessage, piece: GatheredText): SimMessage {
  if ('call' in piece) return { ...message, toolCalls: [...message.toolCalls, piece.call] };
  if ('result' in piece) return { ...message, toolResults: [...message.toolResults, piece.result] };
  return { ...message, text: message.text === '' ? piece.text : `${message.text}\n${piece.text}` };
}
