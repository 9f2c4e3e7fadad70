import type { PathFilter } from './path-filter.ts';
import { type Ripgrep, ripgrepIn, ripgrepRecords } from './ripgrep.ts';
import { walk } from './walk.ts';

/** The files below a real directory that the filter lets through, as paths from there, in a fixed order. */
export async function* listFiles(
  directory: string,
  filter: PathFilter,
  env: Readonly<Record<string, string>>,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const rg = await ripgrepIn(directory, env);
  const paths = rg === undefined ? walk(directory, filter, signal) : listWithRipgrep(rg, filter, signal);
  for await (const path of paths) if (isWanted(path, filter)) yield path;
}

/** Whether a path below the directory is to be shown: ripgrep shows more hidden files than we do. */
export function isWanted(path: string, { matches, hidden }: PathFilter): boolean {
  const names = path.split('/');
  return matches(names) && (hidden || !names.some((name) => name.startsWith('.')));
}

/**
 * The options with which ripgrep looks at no more than it has to. Its own `--glob` is not used: a glob that fits brings
 * back what `.gitignore` ignores.
 */
export function filterOptions({ hidden, lastNames }: PathFilter): readonly string[] {
  const isPlain = lastNames?.every((name) => /^[\w.*?-]+$/.test(name)) ?? false;
  return [
    ...(hidden ? ['--hidden', '--glob=!.git'] : []),
    ...(isPlain ? [...(lastNames ?? []).map((name) => `--type-add=wanted:${name}`), '--type=wanted'] : []),
  ];
}

async function* listWithRipgrep(
  rg: Ripgrep,
  filter: PathFilter,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const args = ['--files', ...filterOptions(filter), '--', './'];
  for await (const path of ripgrepRecords(rg, args, '\0', signal)) yield path.replace(/^\.\//, '');
}
