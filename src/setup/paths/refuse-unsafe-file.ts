import { lstatSync, realpathSync, type Stats, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { PolypodError, tryOrUndefined } from '../../base/index.ts';

/**
 * Throws for a file that other users of this machine can change or replace, and for a secret one that they can read. A group
 * may read secrets (many systems store TLS keys with mode 0640), but not change them. A missing file is accepted here.
 */
export function refuseUnsafeFile(
  what: string,
  path: string,
  { isSecret = false }: { readonly isSecret?: boolean } = {},
): void {
  if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return;
  const real = realPath(path);
  // A link to nothing or in a circle fails when the file is read.
  if (real === undefined) return;
  const found = statSync(real);
  refuseMode(what, real, found, isSecret);
  const me = process.getuid?.();
  if (me !== undefined && me !== 0 && found.uid !== me && found.uid !== 0)
    throw unsafe(`${what} ${real} belongs to another user`, `chown ${me} ${quoted(real)}`);
  for (const directory of new Set([...parentsOf(resolve(path)), ...parentsOf(real)])) {
    const { mode } = statSync(directory);
    // In a sticky directory such as /tmp, users can only replace their own files.
    if ((mode & OTHERS_WRITE) !== 0 && (mode & STICKY) === 0)
      throw unsafe(
        `${what} ${path} is in ${directory}, where every user of this machine can replace files`,
        `chmod o-w ${quoted(directory)}`,
      );
  }
}

function refuseMode(what: string, real: string, { mode }: Stats, isSecret: boolean): void {
  const verb = (mode & OTHERS_WRITE) !== 0 ? 'change' : 'read';
  if ((mode & OTHERS_WRITE) !== 0 || (isSecret && (mode & OTHERS_READ) !== 0))
    throw unsafe(
      `every user of this machine can ${verb} ${what} ${real}`,
      `chmod ${isSecret ? '600' : 'o-w'} ${quoted(real)}`,
    );
  if (isSecret && (mode & GROUP_WRITE) !== 0)
    throw unsafe(`its group can change ${what} ${real}`, `chmod g-w ${quoted(real)}`);
}

function realPath(path: string): string | undefined {
  return tryOrUndefined(() => realpathSync(path));
}

/** All parent directories up to the root. */
function parentsOf(path: string): readonly string[] {
  const parent = dirname(path);
  return parent === path ? [] : [parent, ...parentsOf(parent)];
}

function unsafe(problem: string, command: string): PolypodError {
  return new PolypodError('denied', `${problem}: run ${command}`);
}

function quoted(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}

const OTHERS_READ = 0o004;
const OTHERS_WRITE = 0o002;
const GROUP_WRITE = 0o020;
const STICKY = 0o1000;
