import { lstat, readlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { messageOf, systemCodeOf } from '../../base/index.ts';

/** Where a path leads. */
export type PathLocation =
  | {
      /** Absolute, without links; for what does not exist yet, below the real location of what does. */
      readonly real: string;
      /** Why another process may end up elsewhere. */
      readonly doubt?: string;
    }
  /** Why nobody can say where it leads. */
  | { readonly problem: string };

export type RealPath = (path: string) => Promise<PathLocation>;

/**
 * Follows a path as the kernel does: a link is followed before the `..` behind it is, which is not what normalising the
 * text would give. What does not exist is where it would be created. Spelling is kept on file systems that ignore case,
 * so that another spelling of a location looks like another one: outside of the scope, hence a question, never a leak.
 */
export async function realPath(path: string): Promise<PathLocation> {
  if (!path.startsWith('/')) return { problem: `${path} is not an absolute path` };
  if (path.includes('\0')) return { problem: 'the path has a NUL byte in it' };
  if (path.length > MOST_CHARACTERS) return { problem: 'the path is longer than any can be' };
  let [at, links, doubt]: [string, number, string | undefined] = ['/', 0, undefined];
  /** The last is the next. */
  const rest = path.split('/').toReversed();
  for (let segment = rest.pop(); segment !== undefined; segment = rest.pop()) {
    if (segment === '' || segment === '.') continue;
    if (segment === '..') {
      at = dirname(at);
      continue;
    }
    const next = join(at, segment);
    // Much of /proc is another file for each process that opens it, and /dev/fd and /dev/stdin lead there.
    if (next === '/proc') doubt = `${path} leads through /proc`;
    const found = await look(next);
    if ('problem' in found) return found;
    // Behind what does not exist a `..` may come back to what does.
    if (found.is === 'other') at = next;
    if (found.is === 'link') {
      links += 1;
      if (links > MOST_LINKS) return { problem: `${path} has too many symbolic links` };
      if (found.target.startsWith('/')) at = '/';
      rest.push(...found.target.split('/').toReversed());
    }
  }
  return placed(at, doubt);
}

const MOST_CHARACTERS = 10_000;

/** What Linux follows before it says ELOOP. */
const MOST_LINKS = 40;

type Found =
  | { readonly is: 'other' }
  | { readonly is: 'link'; readonly target: string }
  | { readonly problem: string };

async function look(path: string): Promise<Found> {
  try {
    const stats = await lstat(path);
    return stats.isSymbolicLink() ? { is: 'link', target: await readlink(path) } : { is: 'other' };
  } catch (thrown) {
    const isMissing = ['ENOENT', 'ENOTDIR', 'ENAMETOOLONG'].includes(systemCodeOf(thrown) ?? '');
    return isMissing ? { is: 'other' } : { problem: `${path} cannot be looked at: ${messageOf(thrown)}` };
  }
}

function placed(real: string, doubt: string | undefined): PathLocation {
  return doubt === undefined ? { real } : { real, doubt };
}
