import { realpathSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { arrayOf, tryOrUndefined, namesIn } from '../../base/index.ts';
import { type ControlLink, openControlLink } from '../../control/index.ts';
import { controlSocket, hostSockets } from '../../setup/index.ts';
import type { SessionOwner } from './session-owner.ts';

/** The process that listens on a pod's socket, `RUNTIME/pods/ID.sock`: its control socket is in the same runtime directory. */
export function ownerOfPodSocket(path: string): SessionOwner {
  const file = targetOf(path);
  const id = basename(file, '.sock');
  const runtimeDirectory = dirname(dirname(file));
  return {
    id,
    connect: async () =>
      (await hostOf(id, hostSockets({ runtimeDirectory }))) ??
      openControlLink(controlSocket({ runtimeDirectory }), 'daemon'),
  };
}

/** `NAME.sock` is a link to `ID.sock`. */
function targetOf(path: string): string {
  // There is no such file, so no owner will be found.
  return tryOrUndefined(() => realpathSync(path)) ?? path;
}

async function hostOf(id: string, directory: string): Promise<ControlLink | undefined> {
  for (const name of namesIn(directory)) {
    const link = await openControlLink(join(directory, name), 'host').catch(() => undefined);
    const status = await link?.callSoon('status').catch(() => undefined);
    if (arrayOf(status?.pods).includes(id)) return link;
    link?.close();
  }
  return undefined;
}
