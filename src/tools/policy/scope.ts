import { resolve } from 'node:path';
import { PolypodError } from '../../base/index.ts';
import type { RealPath } from './real-path.ts';

/** Where an agent may read and write without approval of each file. Locations are real paths. */
export interface Scope {
  readonly read: readonly string[] | 'anywhere';
  readonly write: readonly string[];
}

/** The working directory and the paths that the user allows, for reading and writing. */
export async function scopeFrom(
  cwd: string,
  allowPaths: readonly string[],
  realPath: RealPath,
): Promise<Scope> {
  const roots = await Promise.all(
    [cwd, ...allowPaths].map(async (path) => {
      const location = await realPath(resolve(cwd, path));
      if ('problem' in location)
        throw new PolypodError('bad-request', `not a path to allow: ${location.problem}`);
      return location.real;
    }),
  );
  return { read: roots, write: roots };
}

/** Returns a scope that restricts writes only: secrets still ask, everything else may be read. */
export function withUnrestrictedReads(scope: Scope): Scope {
  return { read: 'anywhere', write: scope.write };
}

export function mayRead(scope: Scope, real: string): boolean {
  return scope.read === 'anywhere' || scope.read.some((root) => isInside(root, real));
}

export function mayWrite(scope: Scope, real: string): boolean {
  return scope.write.some((root) => isInside(root, real));
}

/**
 * Returns whether a real path is the root or below it, by whole segments: `/project` does not contain
 * `/projects`.
 */
export function isInside(root: string, real: string): boolean {
  return real === root || real.startsWith(root.endsWith('/') ? root : `${root}/`);
}
