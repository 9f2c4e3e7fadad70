import type { Config } from './config.ts';

/** The variables in which the configuration has keys, whatever they are called. */
export function keyVariables({ accounts }: Pick<Config, 'accounts'>): readonly string[] {
  return accounts.flatMap(({ key }) => (key !== undefined && 'env' in key ? [key.env] : []));
}
