import { type DataPaths, dataPathsFrom } from '../../setup/index.ts';
import type { CommandContext } from '../command.ts';

/** The option of every command that uses sessions. */
export const DATA_DIR = {
  'data-dir': {
    type: 'text',
    value: 'DIR',
    help: 'the data directory (default: POLYPOD_DATA_DIR, or the XDG data directory)',
  },
} as const;

export function dataPathsOf(
  values: { readonly 'data-dir': string | undefined },
  { env }: CommandContext,
): DataPaths {
  return dataPathsFrom(env, { dataDirectory: values['data-dir'] });
}
