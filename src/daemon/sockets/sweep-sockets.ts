import { lstatSync, statSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { directoryNames } from '../../setup/config/index.ts';
import { lookAtSocket } from './socket-state.ts';

/** Takes away the sockets of a directory that processes have left behind, and the links to them; answers with how many. */
export async function sweepSockets(directory: string): Promise<number> {
  const paths = directoryNames(directory).flatMap((name) =>
    name.endsWith('.sock') ? [join(directory, name)] : [],
  );
  let swept = 0;
  // Many at a time: a daemon that was killed leaves one for every named pod, and the next one starts behind this.
  for (let from = 0; from < paths.length; from += AT_ONCE) {
    const some = paths.slice(from, from + AT_ONCE);
    const stale = await Promise.all(some.map(isStaleSocket));
    for (const [index, path] of some.entries()) if (stale[index] === true) swept += takeAway(path);
  }
  // The sockets first: what leads to one of them leads nowhere then.
  for (const path of paths) if (isDeadLink(path)) swept += takeAway(path);
  return swept;
}

const AT_ONCE = 100;

async function isStaleSocket(path: string): Promise<boolean> {
  if (lstatSync(path, { throwIfNoEntry: false })?.isSocket() !== true) return false;
  // What may not be reached is somebody's.
  return (await lookAtSocket(path).catch(() => 'live')) === 'stale';
}

function isDeadLink(path: string): boolean {
  const isLink = lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
  return isLink && statSync(path, { throwIfNoEntry: false }) === undefined;
}

/** 0 if somebody else was quicker. */
function takeAway(path: string): 0 | 1 {
  try {
    unlinkSync(path);
    return 1;
  } catch {
    return 0;
  }
}
