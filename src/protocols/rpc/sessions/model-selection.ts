import { withoutUndefined } from '../../../base/index.ts';
import { type OfferedModel, THINKING_LEVELS, type ThinkingLevel } from '../../../pod/index.ts';
import type { ScopedModel } from './model-scope.ts';

/** A requested model: its reference and its thinking level. */
export interface ModelSelection {
  readonly reference?: string;
  readonly thinking?: ThinkingLevel;
}

/** Parses `--provider X --model Y`, where Y may be `X/id` and may end in a level: `gpt-6:high`. */
export function modelSelection({
  provider,
  model,
  thinking,
}: {
  readonly provider?: string;
  readonly model?: string;
  readonly thinking?: string;
}): ModelSelection {
  const [, id = model, level] = /^(.+):([a-z]+)$/.exec(model ?? '') ?? [];
  const isLevel = THINKING_LEVELS.some((known) => known === level);
  const named = isLevel ? id : model;
  const reference = named === undefined ? provider : joined(provider, named);
  const chosen = THINKING_LEVELS.find((known) => known === (thinking ?? (isLevel ? level : undefined)));
  return {
    ...withoutUndefined({ reference, thinking: chosen }),
  };
}

function joined(provider: string | undefined, id: string): string {
  return provider === undefined || id.startsWith(`${provider}/`) ? id : `${provider}/${id}`;
}

/** Selects a model of a scope. `--thinking` takes precedence over the level of its pattern. */
export function firstOf(
  { model, thinking }: ScopedModel<Pick<OfferedModel, 'provider' | 'id'>>,
  selection: ModelSelection,
): ModelSelection {
  return { reference: `${model.provider}/${model.id}`, ...withoutUndefined({ thinking }), ...selection };
}

export function isSameModel(one: OfferedModel, other: OfferedModel): boolean {
  return one.provider === other.provider && one.id === other.id;
}
