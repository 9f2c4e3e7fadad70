import { lstat, readlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { messageOf, systemCodeOf } from '../../base/index.ts';

/** The location to which a path resolves. */
export type PathLocation =
  | {
      /** Absolute, without links; for a missing file, below the real location of its existing parent. */
      readonly real: string;
      /** Why another process may resolve it differently. */
      readonly doubt?: string;
    }
  /** Why the location cannot be determined. */
  | { readonly problem: string };

export type RealPath = (path: string) => Promise<PathLocation>;

/**
 * Resolves a path like the kernel: a link is followed before a following `..`, unlike with textual
 * normalization. A missing file resolves to where it would be created. Spelling is kept on case-insensitive
 * file systems, so another spelling of a location looks like another location: outside the scope, hence a
 * question, never a leak.
 */
export async function realPath(path: string): Promise<PathLocation> {
  if (!path.startsWith('/')) return { problem: `${path} is not an absolute path` };
  if (path.includes('\0')) return { problem: 'the path contains a NUL byte' };
  if (path.length > MAX_CHARACTERS) return { problem: 'the path is longer than the system allows' };
  let [at, links, doubt]: [string, number, string | undefined] = ['/', 0, undefined];
  /** A stack: `pop()` returns the next segment. */
  const rest = path.split('/').toReversed();
  for (let segment = rest.pop(); segment !== undefined; segment = rest.pop()) {
    if (segment === '' || segment === '.') continue;
    if (segment === '..') {
      at = dirname(at);
      continue;
    }
    const next = join(at, segment);
    // Many entries of /proc differ for each process that opens them, and /dev/fd and /dev/stdin lead there.
    if (next === '/proc') doubt = `${path} leads through /proc`;
    const found = await inspect(next);
    if ('problem' in found) return found;
    // After a missing segment, `..` may lead back to an existing one.
    if (found.is === 'other') at = next;
    if (found.is === 'link') {
      links += 1;
      if (links > MAX_LINKS) return { problem: `${path} has too many symbolic links` };
      if (found.target.startsWith('/')) at = '/';
      rest.push(...found.target.split('/').toReversed());
    }
  }
  return toLocation(at, doubt);
}

const MAX_CHARACTERS = 10_000;

/** The number of links that Linux follows before ELOOP. */
const MAX_LINKS = 40;

type Found =
  | { readonly is: 'other' }
  | { readonly is: 'link'; readonly target: string }
  | { readonly problem: string };

async function inspect(path: string): Promise<Found> {
  try {
    const stats = await lstat(path);
    return stats.isSymbolicLink() ? { is: 'link', target: await readlink(path) } : { is: 'other' };
  } catch (thrown) {
    const isMissing = ['ENOENT', 'ENOTDIR', 'ENAMETOOLONG'].includes(systemCodeOf(thrown) ?? '');
    return isMissing ? { is: 'other' } : { problem: `${path} cannot be examined: ${messageOf(thrown)}` };
  }
}

function toLocation(real: string, doubt: string | undefined): PathLocation {
  return doubt === undefined ? { real } : { real, doubt };
}
