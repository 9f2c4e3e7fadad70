import { numberOf, objectOf, withoutUndefined } from '../../base/index.ts';
import type { Usage } from '../../llm/index.ts';

/** The token counts of one request so far, as the provider counts them. */
export interface Counts {
  readonly input?: number;
  readonly output?: number;
  readonly cacheRead?: number;
  readonly cacheCreation?: number;
  readonly thinking?: number;
}

/** Later frames of a stream replace the counts of earlier ones. */
export function addCounts(known: Counts, usage: unknown): Counts {
  const frame = objectOf(usage);
  return {
    ...known,
    ...withoutUndefined({
      input: numberOf(frame.input_tokens),
      output: numberOf(frame.output_tokens),
      cacheRead: numberOf(frame.cache_read_input_tokens),
      cacheCreation: numberOf(frame.cache_creation_input_tokens),
      thinking: numberOf(objectOf(frame.output_tokens_details).thinking_tokens),
    }),
  };
}

/** The provider counts only the uncached part of the prompt as input; we count the whole prompt. Undefined without counts. */
export function usageFrom(counts: Counts): Usage | undefined {
  const { input, output, cacheRead, cacheCreation, thinking } = counts;
  if (input === undefined) return undefined;
  const inputTokens = input + (cacheRead ?? 0) + (cacheCreation ?? 0);
  return {
    inputTokens,
    totalTokens: inputTokens + (output ?? 0),
    ...withoutUndefined({
      outputTokens: output,
      cacheReadInputTokens: cacheRead,
      cacheCreationInputTokens: cacheCreation,
      reasoningTokens: thinking,
    }),
  };
}
