import type { Config } from './config.ts';

/** The environment variables that hold keys and header values according to the configuration. */
export function keyVariables({ accounts }: Pick<Config, 'accounts'>): readonly string[] {
  return accounts.flatMap(({ key, headers = {} }) =>
    [key, ...Object.values(headers)].flatMap((source) =>
      typeof source === 'object' && 'env' in source ? [source.env] : [],
    ),
  );
}
