import type { Config } from './config.ts';

/** The environment variables that hold keys according to the configuration. */
export function keyVariables({ accounts }: Pick<Config, 'accounts'>): readonly string[] {
  return accounts.flatMap(({ key }) => (key !== undefined && 'env' in key ? [key.env] : []));
}
