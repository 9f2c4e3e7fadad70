import { PERMISSION_MODES, type PodSettings, THINKING_LEVELS } from '../../../pod/index.ts';
import type { OfferedModel } from '../../../pod/index.ts';
import type { ConfigOption, SessionModes } from '../wire.ts';

const MODE_NAMES: Readonly<Record<(typeof PERMISSION_MODES)[number], { name: string; description: string }>> =
  {
    'read-only': {
      name: 'Read only',
      description: 'Files cannot be changed, and only commands that read are run.',
    },
    'workspace-write': {
      name: 'Ask',
      description: 'Files of the project can be changed; commands need an approval.',
    },
    'full-access': { name: 'Full access', description: 'Everything runs without an approval.' },
  };

/** The settings of a session that an editor can show and change. */
export interface ShownSettings {
  readonly mode: (typeof PERMISSION_MODES)[number];
  readonly model: { readonly provider: string; readonly modelId: string };
  readonly thinking: PodSettings['thinking'];
}

export function modesOf({ mode }: Pick<ShownSettings, 'mode'>): SessionModes {
  return {
    currentModeId: mode,
    availableModes: PERMISSION_MODES.map((id) => ({ id, ...MODE_NAMES[id] })),
  };
}

export function configOptions(
  { mode, model, thinking }: ShownSettings,
  models: readonly OfferedModel[],
): readonly ConfigOption[] {
  const current = `${model.provider}/${model.modelId}`;
  const offered = models.map(({ provider, id, name }) => ({ value: `${provider}/${id}`, name }));
  const isListed = offered.some(({ value }) => value === current);
  return [
    {
      id: 'mode',
      name: 'Permissions',
      category: 'mode',
      type: 'select',
      currentValue: mode,
      options: PERMISSION_MODES.map((value) => ({ value, ...MODE_NAMES[value] })),
    },
    {
      id: 'model',
      name: 'Model',
      category: 'model',
      type: 'select',
      currentValue: current,
      options: isListed ? offered : [{ value: current, name: model.modelId }, ...offered],
    },
    {
      id: 'thinking',
      name: 'Thinking',
      category: 'thought_level',
      type: 'select',
      currentValue: thinking ?? DEFAULT_THINKING,
      options: [
        { value: DEFAULT_THINKING, name: 'Default of the model' },
        ...THINKING_LEVELS.map((value) => ({ value, name: value })),
      ],
    },
  ];
}

export const DEFAULT_THINKING = 'default';
