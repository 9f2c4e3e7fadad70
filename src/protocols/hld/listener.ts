import type { Socket } from 'node:net';
import type { JsonObject } from '../../base/index.ts';
import { PolypodError } from '../../base/index.ts';
import { connectUnix, containFailures, listenUnix, NO_ID, RPC_CODES, rpcError } from '../../wire/index.ts';
import { Backlog } from './events/backlog.ts';
import { Follower } from './events/follower.ts';
import { skipping } from './sessions/session.ts';
import type { HldContext } from './methods.ts';
import { DEFAULT_HEARTBEAT_MS, DEFAULT_LIMITS, type HldSettings } from './settings.ts';
import { Subscriptions } from './events/subscriptions.ts';

export interface OpenHld {
  readonly socketPath: string;
  readonly status: () => JsonObject;
  /** Closes all connections and removes the socket. Sessions continue. */
  readonly close: () => Promise<void>;
}

/** Opens the door on its socket. Throws if another daemon is running there. */
export async function startHld(settings: HldSettings): Promise<OpenHld> {
  const { host, socketPath, log, now = Date.now } = settings;
  const { heartbeatMs = DEFAULT_HEARTBEAT_MS, limits } = settings;
  await refuseBesideAnother(socketPath);
  const subscriptions = new Subscriptions({ heartbeatMs, now });
  const follower = new Follower({
    host,
    log,
    now,
    publish: (event, runId) => subscriptions.publish(event, runId),
  });
  await follower.start();
  const links = new Set<Socket>();
  let [refused, cutOff] = [0, 0];
  const backlog = new Backlog({ ...DEFAULT_LIMITS, ...limits }, ({ reason, unread }) => {
    cutOff += 1;
    log.warn('disconnected a client of the HLD socket that did not read', { reason, unread });
  });
  const accept = (socket: Socket): void => {
    links.add(socket);
    containFailures(socket, (thrown) => settings.caught?.(thrown));
    socket.on('close', () => links.delete(socket));
    serve(socket).catch((thrown: unknown) => {
      settings.caught?.(thrown);
      socket.destroy();
    });
  };
  let context: HldContext | undefined;
  const serve = async (socket: Socket): Promise<void> => {
    // Loaded with the first client: the daemon is ready without it.
    const { callMethod, contextFor, serveLink } = await import('./open-link.ts');
    const methods = (context ??= contextFor(settings, follower, now));
    await serveLink(socket, {
      serve: (call) => callMethod(call, methods),
      subscriptions,
      backlog,
      onRefused: () => {
        refused += 1;
      },
      onInternalError: ({ message, cause }, method) =>
        log.error('a request failed', { method, message, cause: String(cause) }),
    });
  };
  try {
    for (const { id, skipPermissionsUntil: until } of await host.sessions.list())
      if (skipping(until, now()).isOn) follower.watchExpiry(id, until);
    const server = await listenUnix(socketPath, accept, {
      refusal: (message) => {
        refused += 1;
        return `${rpcError({ code: RPC_CODES.invalidRequest, message }, NO_ID)}\n`;
      },
    });
    return {
      socketPath,
      status: () => ({
        socket: socketPath,
        links: links.size,
        subscribers: subscriptions.size,
        unread: backlog.total,
        cutOff,
        refused,
      }),
      close: async () => {
        follower.close();
        subscriptions.close();
        backlog.close();
        const closed = new Promise((resolve) => server.close(resolve));
        // Lets clients read what was sent before.
        for (const link of links) link.destroySoon();
        const late = setTimeout(() => links.forEach((link) => link.destroy()), PATIENCE_MS);
        await closed;
        clearTimeout(late);
      },
    };
  } catch (thrown) {
    follower.close();
    throw thrown;
  }
}

/** How long a client may take to read the remaining bytes when the door closes. */
const PATIENCE_MS = 1_000;

/** Throws if a daemon is running on the socket. */
export async function refuseBesideAnother(path: string): Promise<void> {
  const other = await connectUnix(path);
  other?.destroy();
  if (other !== undefined)
    throw new PolypodError(
      'conflict',
      `daemon already running at ${path}: end it, or set HUMANLAYER_DAEMON_SOCKET`,
    );
}
