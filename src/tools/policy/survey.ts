import { isJudgedByContent } from './credentials.ts';
import { compileWildcards, type TextMatcher } from '../../base/index.ts';
import type { FileFacts } from './file-facts.ts';
import { isSecret } from './secret-files.ts';

/** Paths, or why they are unknown. */
export type FoundPaths = { readonly paths: readonly string[] } | { readonly problem: string };

/** Returns the existing paths that wildcards match; the pattern itself if there are none, as in bash. */
export async function expandWildcards(
  path: string,
  wild: readonly number[],
  fileFacts: FileFacts,
): Promise<FoundPaths> {
  let found: readonly string[] = [''];
  let offset = 1;
  for (const segment of path.slice(1).split('/')) {
    const segmentWildcards = wild
      .map((index) => index - offset)
      .filter((index) => index >= 0 && index < segment.length);
    offset += segment.length + 1;
    if (segmentWildcards.length === 0) {
      found = found.map((parent) => `${parent}/${segment}`);
      continue;
    }
    const matches = compileSegment(segment, segmentWildcards);
    // Whether they match depends on the version of bash.
    if (matches('.') || matches('..')) return { problem: `${segment} may match the parent directory` };
    const matched: string[] = [];
    for (const parent of found) {
      const entries = await fileFacts.list(parent === '' ? '/' : parent);
      if (entries === undefined) return { problem: 'a directory that it may match cannot be listed' };
      matched.push(...entries.filter(({ name }) => matches(name)).map(({ name }) => `${parent}/${name}`));
      if (matched.length > MAX_MATCHES) return { problem: `${path} matches too many files` };
    }
    found = matched;
  }
  return { paths: found.length === 0 ? [path] : found };
}

const MAX_MATCHES = 2_000;

/**
 * A leading wildcard does not match a dot. How many bytes a `?` matches depends on the locale, so it matches
 * any number of them.
 */
function compileSegment(segment: string, wild: readonly number[]): TextMatcher {
  const stars = segment.split('').map((char, index) => (wild.includes(index) ? '*' : char));
  const matches = compileWildcards(stars.join(''), wild);
  return (name) => matches(name) && !(wild.includes(0) && name.startsWith('.'));
}

/**
 * Returns what needs a separate check below a directory: secrets by name, and links, which may lead anywhere.
 * Programs that skip hidden files do not follow links either. Installed packages are public anyway.
 */
export async function findNotable(
  directory: string,
  below: 'all' | 'visible',
  fileFacts: FileFacts,
): Promise<FoundPaths> {
  const paths: string[] = [];
  const waiting = [directory];
  let remaining = MAX_ENTRIES;
  for (let current = waiting.pop(); current !== undefined; current = waiting.pop()) {
    const entries = await fileFacts.list(current);
    if (entries === undefined) return { problem: `the entries of ${current} are unknown` };
    remaining -= entries.length;
    if (remaining < 0)
      return { problem: `there are too many files below ${directory} to look for secrets in it` };
    for (const { name, is } of entries) {
      const path = `${current}/${name}`;
      if (name === 'node_modules' && is === 'directory') continue;
      if (below === 'visible' && (name.startsWith('.') || is === 'link')) continue;
      if (is === 'link' || isSecret(path) || isJudgedByContent(path)) paths.push(path);
      else if (is === 'directory') waiting.push(path);
    }
  }
  return { paths };
}

/** A normal source tree takes milliseconds; a home directory deserves a question. */
const MAX_ENTRIES = 30_000;
