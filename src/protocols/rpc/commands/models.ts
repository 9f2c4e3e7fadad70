import { PolypodError } from '../../../base/index.ts';
import { levelIn, textIn } from '../arguments.ts';
import { modelFrame } from '../encode/messages.ts';
import { modelScope } from '../sessions/model-scope.ts';
import { LEVELS } from '../wire.ts';
import type { Command } from './command.ts';
import { levelOf } from './state.ts';

export const setModel: Command = async (wish, seat) => {
  const [provider, modelId] = [textIn(wish, 'provider'), textIn(wish, 'modelId')];
  const model = (await seat.models()).find((one) => one.provider === provider && one.id === modelId);
  if (model === undefined) throw new PolypodError('not-found', `Model not found: ${provider}/${modelId}`);
  await seat.handle({ type: 'configure', set: { model: { provider, modelId } } });
  return modelFrame(model);
};

/** Null when there is nothing to go on to. */
export const cycleModel: Command = async (_, seat) => {
  const all = await seat.models();
  const { models: scoped } = modelScope(all, seat.parts.scope);
  const isScoped = scoped.length > 0;
  const models = isScoped ? scoped : all.map((model) => ({ model, thinking: undefined }));
  const { model: now, settings } = await seat.pod.snapshot();
  const at = models.findIndex(({ model }) => model.provider === now.provider && model.id === now.modelId);
  const next = models[(at + 1) % models.length];
  if (next === undefined || models.length < 2) return null;
  const { provider, id: modelId } = next.model;
  const { thinking } = next;
  await seat.handle({
    type: 'configure',
    set: { model: { provider, modelId }, ...(thinking === undefined ? {} : { thinking }) },
  });
  const level = levelOf(thinking ?? settings.thinking, next.model);
  return {
    model: modelFrame(next.model),
    ...(level === undefined ? {} : { thinkingLevel: level }),
    isScoped,
  };
};

export const getAvailableModels: Command = async (_, seat) => ({
  models: (await seat.models()).map(modelFrame),
});

/** Never fails: what is no level takes the choice away. */
export const setThinkingLevel: Command = async (wish, seat) => {
  const thinking = levelIn(wish);
  if (thinking === undefined) await seat.handle({ type: 'configure', clear: ['thinking'] });
  else await seat.handle({ type: 'configure', set: { thinking } });
};

/** Null for a model that does not reason. */
export const cycleThinkingLevel: Command = async (_, seat) => {
  const { model, settings } = await seat.pod.snapshot();
  if (!seat.modelOf(model).reasoning) return null;
  const thinking = LEVELS[(LEVELS.indexOf(settings.thinking ?? 'off') + 1) % LEVELS.length] ?? 'off';
  await seat.handle({ type: 'configure', set: { thinking } });
  return { level: thinking };
};

export const getAvailableThinkingLevels: Command = async (_, seat) => {
  const { model } = await seat.pod.snapshot();
  return { levels: seat.modelOf(model).reasoning ? LEVELS : ['off'] };
};
