import { type DataPaths, dataPathsFrom } from '../../setup/index.ts';
import type { Surroundings } from '../command.ts';

/** The option of every command that has to do with sessions. */
export const DATA_DIR = {
  'data-dir': {
    type: 'text',
    value: 'DIR',
    help: 'where sessions are kept (default: POLYPOD_DATA_DIR, or as XDG says)',
  },
} as const;

export function dataPathsOf(
  values: { readonly 'data-dir': string | undefined },
  { env }: Surroundings,
): DataPaths {
  return dataPathsFrom(env, { dataDirectory: values['data-dir'] });
}
