import { arrayOf, type JsonObject, objectOf, stringOf } from '../../base/index.ts';
import type { ControlCalls } from './control-calls.ts';
import type { PodLocation } from './pod-location.ts';

/** The models of the process that hosts the pods. */
export function remoteModels(calls: ControlCalls): Pick<PodLocation, 'models' | 'model' | 'accountOf'> {
  return {
    models: async () => arrayOf((await calls.call('models', {})).models).map(listedModelIn),
    model: async (reference) => choiceIn(await calls.call('model', { reference })),
    accountOf: async ({ provider, modelId }) =>
      accountIn(await calls.call('model', { reference: `${provider}/${modelId}` })),
  };
}

function listedModelIn(value: unknown) {
  const { reference, problem } = objectOf(value);
  return { reference: stringOf(reference), problem: problem === undefined ? undefined : stringOf(problem) };
}

function choiceIn({ choice }: JsonObject) {
  const { provider, modelId } = objectOf(choice);
  return { provider: stringOf(provider), modelId: stringOf(modelId) };
}

function accountIn({ account }: JsonObject) {
  const { name, wire, baseUrl } = objectOf(account);
  return { name: stringOf(name), api: stringOf(wire), baseUrl: stringOf(baseUrl) };
}
