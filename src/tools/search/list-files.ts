import type { PathFilter } from './path-filter.ts';
import { type Ripgrep, findRipgrep, ripgrepRecords } from './ripgrep.ts';
import { walk } from './walk.ts';

/** Lists the files below a real directory that pass the filter, as relative paths in a fixed order. */
export async function* listFiles(
  directory: string,
  filter: PathFilter,
  env: Readonly<Record<string, string>>,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const rg = await findRipgrep(directory, env);
  const paths = rg === undefined ? walk(directory, filter, signal) : listWithRipgrep(rg, filter, signal);
  for await (const path of paths) if (passesFilter(path, filter)) yield path;
}

/** Returns whether a path is included: ripgrep shows more hidden files than we do. */
export function passesFilter(path: string, { matches, hidden }: PathFilter): boolean {
  const names = path.split('/');
  return matches(names) && (hidden || !names.some((name) => name.startsWith('.')));
}

/**
 * Returns the options that limit what ripgrep visits. Its own `--glob` is not used, because a matching glob
 * overrides `.gitignore`. A name with `?` is not passed to it, because its `?` matches a byte, not a character.
 */
export function filterOptions({ hidden, lastNames }: PathFilter): readonly string[] {
  const isPlain = lastNames?.every((name) => /^[\w.*-]+$/.test(name)) ?? false;
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
