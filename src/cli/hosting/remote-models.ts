import { type JsonObject, objectOf, stringOf } from '../../base/index.ts';
import type { ControlCalls } from './control-calls.ts';
import type { PodLocation } from './pod-location.ts';

/** The models of the process that hosts the pods. */
export function remoteModels(calls: ControlCalls): Pick<PodLocation, 'model' | 'accountOf'> {
  return {
    model: async (reference) => choiceIn(await calls.call('model', { reference })),
    accountOf: async ({ provider, modelId }) =>
      accountIn(await calls.call('model', { reference: `${provider}/${modelId}` })),
  };
}

function choiceIn({ choice }: JsonObject) {
  const { provider, modelId } = objectOf(choice);
  return { provider: stringOf(provider), modelId: stringOf(modelId) };
}

function accountIn({ account }: JsonObject) {
  const { name, wire, baseUrl } = objectOf(account);
  return { name: stringOf(name), api: stringOf(wire), baseUrl: stringOf(baseUrl) };
}
