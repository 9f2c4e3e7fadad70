import { join } from 'node:path';
import { Client } from '../floor/client.mjs';
import { scratch, start } from '../floor/processes.mjs';

const HOSTS = {
  floor: new URL('floor-host.mjs', import.meta.url),
  pod: new URL('pod-host.mjs', import.meta.url),
};

/** Starts a host of this kind in its own process; resolves with the connection that opens and closes its sessions. */
export async function startSessions(kind, provider) {
  const directory = scratch();
  const path = join(directory, 'control.sock');
  await start(HOSTS[kind], [path, provider, directory]);
  return Client.connect(path, kind);
}
