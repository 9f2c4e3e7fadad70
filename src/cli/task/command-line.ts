import type { TaskValues } from './options.ts';

type Way = Pick<TaskValues, 'url' | 'key-file' | 'ca' | 'insecure'>;

/** A command for the same agent, as a person would type it. */
export function commandLine(words: readonly string[], values: Way): string {
  const { url, 'key-file': keyFile, ca, insecure } = values;
  const way = [
    ...(url === undefined ? [] : ['--url', url]),
    ...(keyFile === undefined ? [] : ['--key-file', keyFile]),
    ...(ca === undefined ? [] : ['--ca', ca]),
    ...(insecure ? ['--insecure'] : []),
  ];
  return ['polypod', 'task', ...words, ...way.map(quoted)].join(' ');
}

function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
