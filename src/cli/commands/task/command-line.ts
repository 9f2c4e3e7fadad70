import { sanitizeLine } from '../../../terminal/index.ts';
import type { TaskValues } from './options.ts';

type ConnectionValues = Pick<
  TaskValues,
  'url' | 'agent' | 'key-file' | 'ca' | 'cert' | 'key' | 'insecure' | 'data-dir'
>;

/** A command for the same agent, as a user would type it. */
export function commandLine(words: readonly string[], values: ConnectionValues): string {
  const way = WAY.flatMap((name) => {
    const value = values[name];
    return value === undefined ? [] : [`--${name}`, value];
  });
  if (values.insecure) way.push('--insecure');
  // The ids come from the server.
  return sanitizeLine(['polypod', 'task', ...words, ...way.map(quoted)].join(' '));
}

const WAY = ['agent', 'url', 'key-file', 'ca', 'cert', 'key', 'data-dir'] as const;

function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
