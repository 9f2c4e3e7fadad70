import { type JsonObject, objectOf, tryParse } from '../../base/index.ts';
import {
  type SimAnswer,
  type AnswerUsage,
  CHUNK_SIZE,
  generatedText,
  type Part,
  type Stop,
} from './answer.ts';
import type { SimRequest } from '../request.ts';

/** An answer with all defaults resolved, ready to be encoded by a provider API. */
export interface Reply {
  readonly parts: readonly ReplyPart[];
  readonly stop: Stop;
  readonly usage: Required<AnswerUsage>;
  readonly interleave: boolean;
}

export type ReplyPart =
  | { readonly type: 'text' | 'refusal'; readonly text: string; readonly chunkSize: number }
  | {
      readonly type: 'thinking';
      readonly text: string;
      readonly chunkSize: number;
      readonly signature: string;
    }
  | { readonly type: 'redacted'; readonly text: string; readonly chunkSize: number }
  | ReplyCall;

export interface ReplyCall {
  readonly type: 'call';
  readonly id: string | undefined;
  readonly name: string;
  /** The arguments as JSON text; undefined for a call without any. */
  readonly text: string | undefined;
  readonly chunkSize: number;
}

export function resolveAnswer(
  answer: SimAnswer,
  request: SimRequest,
  newCallId: () => string | undefined,
): Reply {
  const chunkSize = Math.max(1, answer.pace?.chunkSize ?? CHUNK_SIZE);
  const deltas = answer.pace?.deltas ?? 0;
  const parts: Part[] = [...answer.parts];
  if (deltas > 0) parts.push({ text: generatedText(deltas * chunkSize) });
  const resolved = parts.map((part) => resolvePart(part, chunkSize, newCallId));
  return {
    parts: resolved,
    stop: answer.stop ?? impliedStop(resolved),
    usage: { ...estimateUsage(resolved, request), ...answer.usage },
    interleave: answer.interleave ?? false,
  };
}

/**
 * Returns the arguments as an object, for provider APIs that never send text; anything but a JSON object
 * becomes {}.
 */
export function callArguments(call: ReplyCall): JsonObject {
  return objectOf(tryParse(call.text ?? '{}'));
}

function resolvePart(part: Part, chunkSize: number, newCallId: () => string | undefined): ReplyPart {
  if ('text' in part) return { type: 'text', text: part.text, chunkSize: part.chunkSize ?? chunkSize };
  if ('refusal' in part) return { type: 'refusal', text: part.refusal, chunkSize };
  if ('redacted' in part) return { type: 'redacted', text: part.redacted, chunkSize };
  if ('thinking' in part) {
    return { type: 'thinking', text: part.thinking, chunkSize, signature: part.signature ?? SIGNATURE };
  }
  const { id, name, arguments: value, argumentsText } = part.toolCall;
  const text = argumentsText ?? (value === undefined ? undefined : JSON.stringify(value));
  return { type: 'call', id: id ?? newCallId(), name, text, chunkSize };
}

function impliedStop(parts: readonly ReplyPart[]): Stop {
  if (parts.some((part) => part.type === 'call')) return 'tool-use';
  return parts.some((part) => part.type === 'refusal') ? 'refusal' : 'end-turn';
}

function estimateUsage(parts: readonly ReplyPart[], request: SimRequest): Required<AnswerUsage> {
  const generated = parts.map((part) => estimateTokens(part.text ?? '')).reduce(sum, 0);
  const thought = parts.filter((part) => part.type === 'thinking').map((part) => estimateTokens(part.text));
  const prompt = request.messages
    .map((message) => estimateTokens(message.text))
    .reduce(sum, estimateTokens(request.system));
  return {
    inputTokens: prompt,
    outputTokens: generated,
    cacheReadInputTokens: 0,
    cacheCreationInputTokens: 0,
    reasoningTokens: thought.reduce(sum, 0),
  };
}

function estimateTokens(text: string): number {
  return Math.ceil(text.length / 4);
}

function sum(a: number, b: number): number {
  return a + b;
}

/** Base64 like real signatures, because clients may check that. */
const SIGNATURE = 'c2ltLXNpZ25hdHVyZQ==';
