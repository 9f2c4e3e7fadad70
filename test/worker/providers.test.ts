import { describe } from 'vitest';
import { providers } from '../../src/registry.ts';
import { workerContract } from './worker.contract.ts';

describe.each(providers.map((provider) => [provider.name, provider] as const))('%s', (_name, provider) => {
  workerContract(provider);
});
