import { VENDORS } from '../../llm/index.ts';
import type { Config } from './config.ts';

/** The environment variables that hold keys or name files with keys: those of the vendors and of the configuration. */
export function keyVariables({
  accounts,
  webSearch,
}: Pick<Config, 'accounts' | 'webSearch'>): readonly string[] {
  const stated = accounts.flatMap(({ key, headers = {} }) =>
    [key, ...Object.values(headers)].flatMap((source) =>
      typeof source === 'object' && 'env' in source ? [source.env] : [],
    ),
  );
  const search = webSearch?.key !== undefined && 'env' in webSearch.key ? [webSearch.key.env] : [];
  return [...VENDORS.flatMap(({ keyEnv }) => keyEnv), ...stated, ...search];
}
