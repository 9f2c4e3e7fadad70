import { PolypodError } from '../../base/index.ts';
import type { ControlLink } from '../../control/index.ts';
import { daemonLink } from '../../daemon/index.ts';
import type { DataPaths } from '../../setup/index.ts';

/** Connects to the daemon. Rejects with the next step if none is running. */
export async function requireDaemon(dataPaths: DataPaths): Promise<ControlLink> {
  const link = await daemonLink(dataPaths);
  if (link !== undefined) return link;
  throw new PolypodError(
    'unreachable',
    `no daemon is up on ${dataPaths.dataDirectory}; polypod serve starts one`,
  );
}
