import { type Environment, vendorNamed } from '../llm/index.ts';
import type { RpcOptions } from './rpc-options.ts';

/** Puts a key that was given on the command line where the provider's own variable is looked for. */
export function withKey(env: Environment, { apiKey, provider, model }: RpcOptions): Environment {
  const [name = ''] = (provider ?? model ?? '').split('/');
  const [variable] = vendorNamed(name)?.keyEnv ?? [];
  return apiKey === undefined || variable === undefined ? env : { ...env, [variable]: apiKey };
}
