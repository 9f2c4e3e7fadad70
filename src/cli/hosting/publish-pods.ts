import type { Audit } from '../../audit/index.ts';
import { logTo, redactor } from '../../base/index.ts';
import { daemonLink, guardSockets } from '../../daemon/index.ts';
import type { Config, DataPaths } from '../../setup/index.ts';
import type { Host } from '../../pod/index.ts';
import type { OpenDoor } from '../../protocols/index.ts';
import { podDoor } from '../../registry.ts';
import { version } from '../version.ts';

export interface PublishOptions {
  readonly host: Host;
  readonly dataPaths: DataPaths;
  readonly config: Config;
  /** Undefined where nothing is kept. */
  readonly audit?: Audit | undefined;
}

/** Has the pods of this process listen on sockets of their own, so that others can attach; undefined where that cannot be. */
export async function publishPods(options: PublishOptions): Promise<OpenDoor | undefined> {
  const { host, dataPaths, config, audit } = options;
  const unguard = await guardSockets(dataPaths, { config: () => config, audit });
  const log = logTo({ sinks: [], level: () => 'error', redact: () => redactor([]) });
  try {
    const claimSocket = (podId: string): Promise<void> => claimFromDaemon(podId, dataPaths);
    const open = await podDoor.open({
      host,
      directory: dataPaths.runtimeDirectory,
      version: version(),
      log,
      namedSockets: 0,
      claimSocket,
    });
    return { ...open, close: () => open.close().finally(unguard) };
  } catch {
    unguard();
    // It is a convenience for others: the run is none the worse without it.
    return undefined;
  }
}

/** A daemon listens for named pods that it has not in memory; this one is in the memory of this process. */
async function claimFromDaemon(podId: string, dataPaths: DataPaths): Promise<void> {
  const link = await daemonLink(dataPaths).catch(() => undefined);
  try {
    await link?.callSoon('release-socket', { pod: podId });
  } catch {
    // Without its socket the pod still works.
  } finally {
    link?.close();
  }
}
