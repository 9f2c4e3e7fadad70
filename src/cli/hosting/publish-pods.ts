import type { Audit } from '../../audit/index.ts';
import { createLog, redactor } from '../../base/index.ts';
import { type ControlServer, hostMethods, listenForControl } from '../../control/index.ts';
import { daemonLink, guardSockets, type Setup, sweepSockets } from '../../daemon/index.ts';
import { type DataPaths, hostSocket, hostSockets } from '../../setup/index.ts';
import type { Host } from '../../pod/index.ts';
import type { OpenDoor } from '../../protocols/index.ts';
import { podDoor } from '../../registry.ts';
import { version } from '../version.ts';

export interface PublishOptions {
  readonly host: Host;
  readonly dataPaths: DataPaths;
  /** The configuration and its models. They are read for each use, because they can be reloaded. */
  readonly setup: Pick<Setup, 'config' | 'models'>;
  /** Undefined if nothing is stored. */
  readonly audit?: Audit | undefined;
}

export interface PublishedPods {
  readonly close: () => Promise<void>;
}

const LOG = createLog({ sinks: [], level: () => 'error', redact: () => redactor([]) });

/**
 * Lets other processes use the pods of this one: Polypod's own commands through a control socket, other programs through the
 * sockets of the pod door. The pods work without either, so a socket that cannot be opened is skipped.
 */
export async function publishPods(options: PublishOptions): Promise<PublishedPods> {
  const { dataPaths, setup, audit } = options;
  const unguard = await guardSockets(dataPaths, { config: () => setup.config, audit });
  // Before the sockets of the pods, so that a client that finds one of them can attach.
  const control = await serveControl(options).catch(() => undefined);
  const door = await openPodDoor(options).catch(() => undefined);
  return {
    close: async () => {
      await Promise.all([control?.close(), door?.close()]);
      unguard();
      // Removes sockets of killed processes.
      await sweepSockets(hostSockets(dataPaths));
    },
  };
}

async function serveControl({ host, dataPaths, setup }: PublishOptions): Promise<ControlServer> {
  return listenForControl({
    path: hostSocket(dataPaths, process.pid),
    serves: 'host',
    version: version(),
    methods: await hostMethods({ host, models: () => setup.models, version: version() }),
    takeOvers: {},
    log: LOG,
    caught: () => {},
  });
}

async function openPodDoor({ host, dataPaths }: PublishOptions): Promise<OpenDoor> {
  return podDoor.open({
    host,
    directory: dataPaths.runtimeDirectory,
    version: version(),
    log: LOG,
    namedSockets: 0,
    claimSocket: (podId) => claimFromDaemon(podId, dataPaths),
  });
}

/** A daemon listens for named pods that it has not loaded; this process has loaded this one. */
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
