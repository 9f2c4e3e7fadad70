import { THINKING_LEVELS } from '../../../pod/index.ts';
import { PolypodError, withoutUndefined } from '../../../base/index.ts';
import { levelIn, textIn } from '../arguments.ts';
import { modelFrame } from '../encode/messages.ts';
import { modelScope } from '../sessions/model-scope.ts';
import type { CommandHandler } from './command.ts';
import { levelOf } from './state.ts';

export const setModel: CommandHandler = async (request, session) => {
  const [provider, modelId] = [textIn(request, 'provider'), textIn(request, 'modelId')];
  const model = (await session.models()).find((one) => one.provider === provider && one.id === modelId);
  if (model === undefined) throw new PolypodError('not-found', `Model not found: ${provider}/${modelId}`);
  await session.handle({ type: 'configure', set: { model: { provider, modelId } } });
  return modelFrame(model);
};

/** Null if there is no other model. */
export const cycleModel: CommandHandler = async (_, session) => {
  const all = await session.models();
  const { models: scoped } = modelScope(all, session.parts.scope);
  const isScoped = scoped.length > 0;
  const models = isScoped ? scoped : all.map((model) => ({ model, thinking: undefined }));
  const { model: now, settings } = await session.pod.snapshot();
  const at = models.findIndex(({ model }) => model.provider === now.provider && model.id === now.modelId);
  const next = models[(at + 1) % models.length];
  if (next === undefined || models.length < 2) return null;
  const { provider, id: modelId } = next.model;
  const { thinking } = next;
  await session.handle({
    type: 'configure',
    set: { model: { provider, modelId }, ...withoutUndefined({ thinking }) },
  });
  const level = levelOf(thinking ?? settings.thinking, next.model);
  return {
    model: modelFrame(next.model),
    ...withoutUndefined({ thinkingLevel: level }),
    isScoped,
  };
};

export const getAvailableModels: CommandHandler = async (_, session) => ({
  models: (await session.models()).map(modelFrame),
});

/** Never fails: an invalid level clears the setting. */
export const setThinkingLevel: CommandHandler = async (request, session) => {
  const thinking = levelIn(request);
  if (thinking === undefined) await session.handle({ type: 'configure', clear: ['thinking'] });
  else await session.handle({ type: 'configure', set: { thinking } });
};

/** Null for a model without reasoning. */
export const cycleThinkingLevel: CommandHandler = async (_, session) => {
  const { model, settings } = await session.pod.snapshot();
  if (!session.modelOf(model).reasoning) return null;
  const thinking =
    THINKING_LEVELS[(THINKING_LEVELS.indexOf(settings.thinking ?? 'off') + 1) % THINKING_LEVELS.length] ??
    'off';
  await session.handle({ type: 'configure', set: { thinking } });
  return { level: thinking };
};

export const getAvailableThinkingLevels: CommandHandler = async (_, session) => {
  const { model } = await session.pod.snapshot();
  return { levels: session.modelOf(model).reasoning ? THINKING_LEVELS : ['off'] };
};
