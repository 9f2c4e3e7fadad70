import type { ThinkingMode } from '../llm/index.ts';
import type { AnswerDetails } from './session/index.ts';

/** A model that clients can choose. Unknown properties are absent. */
export interface OfferedModel {
  readonly provider: string;
  readonly id: string;
  readonly name: string;
  readonly wire: AnswerDetails['wire'];
  readonly baseUrl: string;
  readonly reasoning: boolean;
  readonly input: readonly ('text' | 'image')[];
  readonly cost?: {
    readonly input: number;
    readonly output: number;
    readonly cacheRead?: number;
    readonly cacheWrite?: number;
  };
  readonly contextWindow?: number;
  readonly maxTokens?: number;
  /** How a request asks the provider for thinking. */
  readonly thinkingMode?: ThinkingMode;
}
