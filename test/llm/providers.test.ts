import { describe } from 'vitest';
import { findVendor, settingsFor } from '../../src/llm/index.ts';
import { providers } from '../../src/registry.ts';
import { providerContract } from './provider.contract.ts';

describe.each(providers.map((provider) => [provider.name, provider] as const))('%s', (_name, provider) => {
  providerContract(provider);
});

describe.each(['claude-sim', 'gemini-sim'])('Vertex AI with %s', (model) => {
  const { api = '', byModel = [], keyHeader = '' } = findVendor('vertex') ?? {};
  const account = settingsFor({ name: 'vertex', api, baseUrl: '', byModel, keyHeader }, model);
  const { name: _, baseUrl: _none, ...settings } = account;
  const provider = providers.find(({ name }) => name === account.api);
  if (provider === undefined) throw new Error(`there is no provider ${account.api}`);
  providerContract(provider, { path: '/v1/projects/p/locations/global', ...settings });
});
