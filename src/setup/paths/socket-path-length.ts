import { join } from 'node:path';
import { PolypodError } from '../../base/index.ts';
import { MAX_SOCKET_PATH_BYTES } from '../../wire/index.ts';
import { controlSocket, type DataPaths } from './data-paths.ts';

/** What to do about a runtime directory that is too deep for sockets. */
export const SHORTER = 'set POLYPOD_RUNTIME_DIR to a short directory of your own, or use another --data-dir';

/** As long as the path of any pod's socket. */
const SOME_POD = join('pods', `${'0'.repeat(36)}.sock`);

/** Refuses where the daemon's own socket would be too long for the system. */
export function refuseDeepSockets(dataPaths: Pick<DataPaths, 'runtimeDirectory'>): void {
  const path = controlSocket(dataPaths);
  if (fits(path)) return;
  throw new PolypodError(
    'bad-request',
    `${path} is too long for a socket: the system allows ${MAX_SOCKET_PATH_BYTES} bytes; ${SHORTER}`,
  );
}

/** Whether the pods, whose paths are longer, can have sockets of their own. */
export function hasRoomForPods({ runtimeDirectory }: Pick<DataPaths, 'runtimeDirectory'>): boolean {
  return fits(join(runtimeDirectory, SOME_POD));
}

function fits(path: string): boolean {
  return Buffer.byteLength(path) <= MAX_SOCKET_PATH_BYTES;
}
