import { readlinkSync } from 'node:fs';
import type { Server, Socket } from 'node:net';
import { agentCommands, tryOrUndefined } from '../../base/index.ts';
import { peerCredentials } from './peer-credentials.ts';
import {
  agentHasConnection,
  agentProcessReason,
  socketInode,
  type PeerProcess,
  unixInodes,
} from './peer-process.ts';

/** A connection that was refused because of its process. */
export interface RefusedPeer {
  readonly path: string;
  readonly reason: string;
  readonly pid?: number;
  readonly uid?: number;
}

export interface PeerPolicy {
  /** Whether processes of agents' commands may connect; off unless the user enables it. */
  readonly allowsAgents: () => boolean;
  /** Whether another process of this user runs commands for agents. */
  readonly othersRunCommands: () => boolean;
}

interface PendingPeer {
  readonly socket: Socket;
  readonly server: Server;
  readonly settle: (refused: Omit<RefusedPeer, 'path'> | undefined) => void;
}

/**
 * Decides which processes may connect to our Unix sockets. Programs that an agent runs must not control the
 * agent, because they could approve their own calls. Only the sandbox and separate users are security
 * boundaries; this is a second line of defence. While no command runs, a connection costs one directory read;
 * otherwise, simultaneous connections share the work.
 */
class SocketPeers {
  readonly #listeners = new Set<(refused: RefusedPeer) => void>();
  #policy: PeerPolicy = { allowsAgents: () => false, othersRunCommands: () => false };
  #pending: PendingPeer[] = [];
  #isBusy = false;
  #refused = 0;

  /** The number of connections refused since the start. */
  get refused(): number {
    return this.#refused;
  }

  set policy(policy: PeerPolicy) {
    this.#policy = policy;
  }

  /** Calls the listener for every refused connection; returns a function that unsubscribes. */
  onRefused(listener: (refused: RefusedPeer) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Whether a process of an agent's command could connect now. If not, nothing has to be examined. */
  get mustExamine(): boolean {
    if (process.platform !== 'linux' || this.#policy.allowsAgents()) return false;
    return agentCommands.all().length > 0 || this.#policy.othersRunCommands();
  }

  /** Resolves with the reason if the connection must be refused. */
  async examine(socket: Socket, path: string, server: Server): Promise<string | undefined> {
    const refused = await new Promise<Omit<RefusedPeer, 'path'> | undefined>((settle) => {
      this.#pending.push({ socket, server, settle });
      void this.#examineAll();
    });
    if (refused === undefined) return undefined;
    this.#refused += 1;
    for (const listener of this.#listeners) listener({ path, ...refused });
    return refused.reason;
  }

  async #examineAll(): Promise<void> {
    if (this.#isBusy) return;
    this.#isBusy = true;
    try {
      while (this.#pending.length > 0) {
        // Connections of one event loop turn share the work.
        await new Promise((turn) => void setImmediate(turn));
        await this.#examineBatch(this.#pending.splice(0, MAX_BATCH));
      }
    } finally {
      this.#isBusy = false;
    }
  }

  async #examineBatch(batch: readonly PendingPeer[]): Promise<void> {
    const inodes = unixInodes();
    const local = batch.filter((pending) => {
      const inode = inodeFor(pending.socket);
      // The connection was closed meanwhile.
      if (inode === undefined) {
        pending.settle(undefined);
        return false;
      }
      // A system that does not list our own socket cannot report the owners of others.
      if (inodes.has(inode) || !inodes.has(inodeFor(pending.server) ?? '')) return true;
      pending.settle({ reason: 'it comes from another network namespace' });
      return false;
    });
    const open = local.flatMap((pending) => {
      const descriptor = fileDescriptor(pending.socket);
      if (descriptor === undefined) pending.settle(undefined);
      return descriptor === undefined ? [] : [{ ...pending, descriptor }];
    });
    if (open.length === 0) return;
    const commands = agentCommands.all();
    const peers = await peerCredentials(open.map(({ descriptor }) => descriptor));
    for (const [index, { settle }] of open.entries()) settle(verdict(peers?.[index], commands));
  }
}

function verdict(
  peer: PeerProcess | undefined,
  commands: Parameters<typeof agentProcessReason>[1],
): Omit<RefusedPeer, 'path'> | undefined {
  if (peer === undefined)
    return agentHasConnection(commands)
      ? { reason: 'its process cannot be determined while a command of an agent has connections' }
      : undefined;
  const reason = agentProcessReason(peer, commands);
  return reason === undefined ? undefined : { reason, ...peer };
}

/** Node keeps the descriptor, but does not document it. */
function fileDescriptor(endpoint: Socket | Server): number | undefined {
  const handle: unknown = Reflect.get(endpoint, '_handle');
  const descriptor: unknown =
    typeof handle === 'object' && handle !== null ? Reflect.get(handle, 'fd') : undefined;
  return typeof descriptor === 'number' && descriptor >= 0 ? descriptor : undefined;
}

function inodeFor(endpoint: Socket | Server): string | undefined {
  const descriptor = fileDescriptor(endpoint);
  if (descriptor === undefined) return undefined;
  return tryOrUndefined(() => socketInode(readlinkSync(`/proc/self/fd/${descriptor}`)));
}

/** The peer check of this process, for all of its sockets. */
export const socketPeers = new SocketPeers();

/** The number of sockets that a child process can safely inherit. */
const MAX_BATCH = 100;
