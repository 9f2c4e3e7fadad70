import { join } from 'node:path';
import { PolypodError } from '../../base/index.ts';
import { MAX_SOCKET_PATH_BYTES } from '../../wire/index.ts';
import { controlSocket, type DataPaths } from './data-paths.ts';

/** The next step if the runtime directory is too deep for sockets. */
export const SHORTER_PATH_HINT =
  'set POLYPOD_RUNTIME_DIR to a short directory of your own, or use another --data-dir';

/** Has the length of a pod's socket path. */
const SAMPLE_POD_SOCKET = join('pods', `${'0'.repeat(36)}.sock`);

/** Throws if the path of the daemon's socket exceeds the system's limit. */
export function refuseLongSocketPath(dataPaths: Pick<DataPaths, 'runtimeDirectory'>): void {
  const path = controlSocket(dataPaths);
  if (fits(path)) return;
  throw new PolypodError(
    'bad-request',
    `${path} is too long for a socket: the system allows ${MAX_SOCKET_PATH_BYTES} bytes; ${SHORTER_PATH_HINT}`,
  );
}

/** Whether the socket paths of pods, which are longer, fit as well. */
export function podSocketPathsFit({ runtimeDirectory }: Pick<DataPaths, 'runtimeDirectory'>): boolean {
  return fits(join(runtimeDirectory, SAMPLE_POD_SOCKET));
}

function fits(path: string): boolean {
  return Buffer.byteLength(path) <= MAX_SOCKET_PATH_BYTES;
}
