import { lstatSync, statSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { namesIn } from '../../base/index.ts';
import { probeSocket } from './socket-state.ts';

/** Removes stale sockets of a directory and the links to them; returns their number. */
export async function sweepSockets(directory: string): Promise<number> {
  const paths = namesIn(directory).flatMap((name) => (name.endsWith('.sock') ? [join(directory, name)] : []));
  let swept = 0;
  // In parallel: a killed daemon leaves one socket per named pod, and the next start waits for this.
  for (let from = 0; from < paths.length; from += AT_ONCE) {
    const some = paths.slice(from, from + AT_ONCE);
    const stale = await Promise.all(some.map(isStaleSocket));
    for (const [index, path] of some.entries()) if (stale[index] === true) swept += removeSocket(path);
  }
  // After the sockets: links to removed sockets are dangling now.
  for (const path of paths) if (isDeadLink(path)) swept += removeSocket(path);
  return swept;
}

const AT_ONCE = 100;

async function isStaleSocket(path: string): Promise<boolean> {
  if (lstatSync(path, { throwIfNoEntry: false })?.isSocket() !== true) return false;
  // A socket that cannot be checked counts as in use.
  return (await probeSocket(path).catch(() => 'live')) === 'stale';
}

function isDeadLink(path: string): boolean {
  const isLink = lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
  return isLink && statSync(path, { throwIfNoEntry: false }) === undefined;
}

/** Returns 0 if another process removed it first. */
function removeSocket(path: string): 0 | 1 {
  try {
    unlinkSync(path);
    return 1;
  } catch {
    return 0;
  }
}
