import { withoutUndefined } from '../base/index.ts';
import type { CacheMarkers, Llm, LlmRequest, Model, ThinkingLevel } from '../llm/index.ts';
import type { Tool } from '../tools/index.ts';
import { markInterruptions } from './interruption.ts';

/** The settings of the next turn. Read before every turn, so that they can change during a run. */
export interface TurnSettings {
  readonly llm: Llm;
  readonly model: Model;
  readonly system: string;
  readonly tools: readonly Tool[];
  readonly thinking?: ThinkingLevel;
  readonly maxTokens?: number;
  readonly temperature?: number;
  readonly cache?: CacheMarkers;
}

/** Builds the request of one turn. Tools are sorted by name, so that the start of the prompt is stable. */
export function requestFor(settings: TurnSettings, items: LlmRequest['items']): LlmRequest {
  const { model, system, thinking, temperature, cache } = settings;
  const maxTokens = settings.maxTokens ?? model.maxOutput;
  const tools = settings.tools
    .map(({ name, description, parameters }) => ({ name, description, parameters }))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
  return {
    model: model.id,
    items: markInterruptions(items),
    ...(system === '' ? {} : { system }),
    ...(tools.length === 0 ? {} : { tools }),
    ...(thinking === undefined || !model.reasoning ? {} : { thinking }),
    ...withoutUndefined({ maxTokens, temperature, cache }),
  };
}
