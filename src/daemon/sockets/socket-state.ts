import { lstatSync } from 'node:fs';
import { connectUnix } from '../../wire/index.ts';

/** Whether a socket is in use, stale (its process has ended), or missing. */
export async function probeSocket(path: string): Promise<'live' | 'stale' | 'none'> {
  if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return 'none';
  const socket = await connectUnix(path);
  socket?.destroy();
  return socket === undefined ? 'stale' : 'live';
}
