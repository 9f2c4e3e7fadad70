import type { JsonObject } from '../base/index.ts';
import type { Seal } from './event.ts';

/** One request to a model, independent of the provider. */
export interface LlmRequest {
  readonly model: string;
  readonly system?: string;
  readonly items: readonly Item[];
  readonly tools?: readonly ToolSpec[];
  readonly toolChoice?: ToolChoice;
  readonly maxTokens?: number;
  readonly temperature?: number;
  readonly thinking?: ThinkingLevel;
  readonly stopSequences?: readonly string[];
  /** Marks the stable prefix of the prompt for providers that cache on request (Anthropic). */
  readonly cache?: CacheMarkers;
}

/** One item of the conversation: a message, a tool call, a tool result, reasoning, or an opaque provider block. */
export type Item =
  | {
      readonly type: 'message';
      readonly role: 'user' | 'assistant' | 'system';
      readonly content: readonly Content[];
      readonly seal?: Seal;
      /** The user interrupted this answer here. The next request tells the model. */
      readonly interrupted?: true;
      /** No person wrote this message of the user: clients do not show it as one. */
      readonly automatic?: true;
    }
  | {
      readonly type: 'tool-call';
      readonly callId: string;
      readonly name: string;
      /** JSON text, as the model wrote it. */
      readonly arguments: string;
      readonly seal?: Seal;
    }
  | {
      readonly type: 'tool-result';
      readonly callId: string;
      readonly content: readonly Content[];
      readonly isError: boolean;
    }
  | { readonly type: 'reasoning'; readonly text: string; readonly seal?: Seal }
  | { readonly type: 'opaque'; readonly name: string; readonly seal: Seal };

export type ItemOf<T extends Item['type']> = Extract<Item, { readonly type: T }>;

export type Content =
  | { readonly type: 'text'; readonly text: string }
  /** `data` is base64. */
  | { readonly type: 'image'; readonly mediaType: string; readonly data: string };

export interface ToolSpec {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the arguments, an object. */
  readonly parameters: JsonObject;
}

export type ToolChoice = 'auto' | 'none' | 'required' | { readonly name: string };

export const THINKING_LEVELS = ['off', 'minimal', 'low', 'medium', 'high', 'xhigh'] as const;
export type ThinkingLevel = (typeof THINKING_LEVELS)[number];

export interface CacheMarkers {
  readonly ttl: '5m' | '1h';
  /** Index of an item that rarely changes, for example the last one of a compaction summary. */
  readonly anchor?: number;
}

export function textContent(text: string): readonly Content[] {
  return [{ type: 'text', text }];
}

/** The text of a message or result, without images. */
export function contentText(content: readonly Content[]): string {
  if (content.length === 1 && content[0]?.type === 'text') return content[0].text;
  return content.map((part) => (part.type === 'text' ? part.text : '')).join('');
}
