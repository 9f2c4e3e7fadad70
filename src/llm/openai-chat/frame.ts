import { arrayOf, parseFrame, type JsonObject, numberOf, objectOf, stringOf } from '../../base/index.ts';
import { usageFrom } from '../answer.ts';
import type { StopReason, Usage } from '../event.ts';

/** One chunk of a chat completion, or the `[DONE]` that ends the stream. */
export type Frame = Chunk | typeof DONE;

export interface Chunk {
  readonly id?: unknown;
  readonly object?: unknown;
  readonly model?: unknown;
  readonly choices?: unknown;
  readonly usage?: unknown;
  readonly x_groq?: unknown;
  readonly error?: unknown;
}

export const DONE = 'done';

export function decode(payload: string): Frame | undefined {
  return payload.trim() === '[DONE]' ? DONE : parseFrame(payload);
}

/** Content is a string or, with some vendors, a list of parts, some of which are thinking. */
export function contentText(content: unknown): string {
  if (typeof content === 'string') return content;
  return partsOf(content)
    .map((part) => (part.type === 'thinking' ? '' : stringOf(part.text) || stringOf(part.refusal)))
    .join('');
}

/** Vendors put thinking into `reasoning_content`, `reasoning`, `reasoning_details`, or parts of the content. */
export function parseThinking(delta: JsonObject): { readonly text: string; readonly field: string } {
  const content = stringOf(delta.reasoning_content);
  if (content !== '') return { text: content, field: 'reasoning_content' };
  const reasoning = stringOf(delta.reasoning);
  if (reasoning !== '') return { text: reasoning, field: 'reasoning' };
  const details = arrayOf(delta.reasoning_details).map(objectOf);
  if (details.length > 0) {
    return {
      text: details.map(({ text, summary }) => stringOf(text) || stringOf(summary)).join(''),
      field: 'reasoning',
    };
  }
  if (!Array.isArray(delta.content)) return NO_THINKING;
  const text = partsOf(delta.content)
    .filter((part) => part.type === 'thinking')
    .map((part) => stringOf(part.thinking) || contentText(part.thinking))
    .join('');
  return { text, field: 'content' };
}

const NO_THINKING = { text: '', field: '' } as const;

function partsOf(content: unknown): readonly JsonObject[] {
  return arrayOf(content).map(objectOf);
}

/** Returns '' while the answer continues; some servers then send an empty string or the string "null". */
export function parseFinishReason(choice: JsonObject): string {
  const reason = stringOf(choice.finish_reason);
  return reason === 'null' ? '' : reason;
}

export const STOP_REASONS: Readonly<Record<string, StopReason>> = {
  stop: 'end-turn',
  end_turn: 'end-turn',
  eos: 'end-turn',
  eos_token: 'end-turn',
  stop_sequence: 'stop-sequence',
  length: 'max-tokens',
  max_tokens: 'max-tokens',
  model_length: 'context-full',
  model_context_window_exceeded: 'context-full',
  tool_calls: 'tool-use',
  tool_call: 'tool-use',
  tool_use: 'tool-use',
  function_call: 'tool-use',
  content_filter: 'content-filter',
  sensitive: 'content-filter',
  refusal: 'refusal',
};

export function usageOf(wire: JsonObject): Usage {
  const input = numberOf(wire.prompt_tokens);
  const output = numberOf(wire.completion_tokens);
  const total = numberOf(wire.total_tokens);
  const reasoning = numberOf(objectOf(wire.completion_tokens_details).reasoning_tokens);
  return usageFrom({
    inputTokens: input,
    outputTokens: isReasoningSeparate(input, output, reasoning, total)
      ? (output ?? 0) + (reasoning ?? 0)
      : output,
    totalTokens: total,
    cacheReadInputTokens:
      numberOf(objectOf(wire.prompt_tokens_details).cached_tokens) ??
      numberOf(wire.prompt_cache_hit_tokens) ??
      numberOf(wire.cached_tokens) ??
      numberOf(wire.num_cached_tokens),
    cacheCreationInputTokens: numberOf(objectOf(wire.prompt_tokens_details).cache_write_tokens),
    reasoningTokens: reasoning,
  });
}

/** xAI does not include reasoning in the completion tokens, all others do; the total shows which. */
function isReasoningSeparate(
  input: number | undefined,
  output: number | undefined,
  reasoning: number | undefined,
  total: number | undefined,
): boolean {
  return !!reasoning && total !== undefined && (input ?? 0) + (output ?? 0) + reasoning === total;
}
