import { isJudgedByContent } from './credentials.ts';
import { escapeExpression } from './glob.ts';
import type { FileFacts } from './file-facts.ts';
import { isSecret } from './secret-files.ts';

/** Paths, or why they cannot be told. */
export type Found = { readonly paths: readonly string[] } | { readonly problem: string };

/** The existing paths that wildcards stand for; the pattern itself when there are none, as in bash. */
export async function matches(path: string, wild: readonly number[], fileFacts: FileFacts): Promise<Found> {
  let found: readonly string[] = [''];
  let offset = 1;
  for (const segment of path.slice(1).split('/')) {
    const here = wild.map((index) => index - offset).filter((index) => index >= 0 && index < segment.length);
    offset += segment.length + 1;
    if (here.length === 0) {
      found = found.map((parent) => `${parent}/${segment}`);
      continue;
    }
    const expression = segmentExpression(segment, here);
    // Whether they are among them depends on the version of bash.
    if (expression.test('.') || expression.test('..'))
      return { problem: `${segment} may stand for the directory above` };
    const next: string[] = [];
    for (const parent of found) {
      const entries = await fileFacts.list(parent === '' ? '/' : parent);
      if (entries === undefined) return { problem: 'a directory that it may stand for cannot be listed' };
      next.push(
        ...entries.filter(({ name }) => expression.test(name)).map(({ name }) => `${parent}/${name}`),
      );
      if (next.length > MOST_MATCHES) return { problem: `${path} stands for too many files` };
    }
    found = next;
  }
  return { paths: found.length === 0 ? [path] : found };
}

const MOST_MATCHES = 2_000;

/**
 * A wildcard at the beginning does not stand for a dot. How many bytes are one character to a `?` depends on the
 * language of the environment, so it is read as any number of them.
 */
function segmentExpression(segment: string, wild: readonly number[]): RegExp {
  const parts = segment
    .split('')
    .map((char, index) => (wild.includes(index) ? '.*' : escapeExpression(char)));
  return new RegExp(`^${wild.includes(0) ? '(?!\\.)' : ''}${parts.join('')}$`, 's');
}

/**
 * What is below a directory and needs a look of its own: secrets by their names, and links, which may lead anywhere.
 * Who passes over hidden files follows no links either. What a package manager has installed is published anyway.
 */
export async function notableBelow(
  directory: string,
  below: 'all' | 'visible',
  fileFacts: FileFacts,
): Promise<Found> {
  const paths: string[] = [];
  const waiting = [directory];
  let left = MOST_ENTRIES;
  for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
    const entries = await fileFacts.list(at);
    if (entries === undefined) return { problem: `what is in ${at} cannot be told` };
    left -= entries.length;
    if (left < 0) return { problem: `there is too much below ${directory} to look for secrets in it` };
    for (const { name, is } of entries) {
      const path = `${at}/${name}`;
      if (name === 'node_modules' && is === 'directory') continue;
      if (below === 'visible' && (name.startsWith('.') || is === 'link')) continue;
      if (is === 'link' || isSecret(path) || isJudgedByContent(path)) paths.push(path);
      else if (is === 'directory') waiting.push(path);
    }
  }
  return { paths };
}

/** A source tree of usual size takes milliseconds; a home directory is worth a question. */
const MOST_ENTRIES = 30_000;
