import { readlinkSync } from 'node:fs';
import type { Server, Socket } from 'node:net';
import { agentCommands } from '../../base/index.ts';
import { peerCredentials } from './peer-credentials.ts';
import { agentHasConnection, agentTrace, inodeIn, type PeerProcess, unixInodes } from './peer-process.ts';

/** A connection that was refused because of the process that made it. */
export interface RefusedPeer {
  readonly path: string;
  readonly reason: string;
  readonly pid?: number;
  readonly uid?: number;
}

export interface PeerPolicy {
  /** Whether processes of agents' commands may connect: the user has to say so. */
  readonly allowsAgents: () => boolean;
  /** Whether another process of this user runs commands for agents. */
  readonly othersRunCommands: () => boolean;
}

interface Waiting {
  readonly socket: Socket;
  readonly server: Server;
  readonly settle: (refused: Omit<RefusedPeer, 'path'> | undefined) => void;
}

/**
 * Decides which processes may connect to our Unix sockets. Programs that an agent runs must not control the agent: they
 * could approve their own calls. Only the sandbox and another user are a boundary; this is the second line behind them.
 * While no command runs, a connection costs one look into a directory; otherwise those that come together share the work.
 */
class SocketPeers {
  readonly #listeners = new Set<(refused: RefusedPeer) => void>();
  #policy: PeerPolicy = { allowsAgents: () => false, othersRunCommands: () => false };
  #waiting: Waiting[] = [];
  #isBusy = false;
  #refused = 0;

  /** How many connections were refused since the start. */
  get refused(): number {
    return this.#refused;
  }

  set policy(policy: PeerPolicy) {
    this.#policy = policy;
  }

  /** Calls back for every refused connection; returns how to stop that. */
  onRefused(listener: (refused: RefusedPeer) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Whether a process of an agent's command could connect now. If not, nothing has to be examined. */
  get isAlert(): boolean {
    if (process.platform !== 'linux' || this.#policy.allowsAgents()) return false;
    return agentCommands.all().length > 0 || this.#policy.othersRunCommands();
  }

  /** Resolves with the reason if the connection is to be refused. */
  async examine(socket: Socket, path: string, server: Server): Promise<string | undefined> {
    const refused = await new Promise<Omit<RefusedPeer, 'path'> | undefined>((settle) => {
      this.#waiting.push({ socket, server, settle });
      void this.#examineAll();
    });
    if (refused === undefined) return undefined;
    this.#refused += 1;
    for (const tell of this.#listeners) tell({ path, ...refused });
    return refused.reason;
  }

  async #examineAll(): Promise<void> {
    if (this.#isBusy) return;
    this.#isBusy = true;
    try {
      while (this.#waiting.length > 0) {
        // Those that come in the same turn of the loop share the work.
        await new Promise((turn) => void setImmediate(turn));
        await this.#examineBatch(this.#waiting.splice(0, MOST_AT_ONCE));
      }
    } finally {
      this.#isBusy = false;
    }
  }

  async #examineBatch(batch: readonly Waiting[]): Promise<void> {
    const inodes = unixInodes();
    const near = batch.filter((waiting) => {
      const inode = inodeOf(waiting.socket);
      // It was closed meanwhile.
      if (inode === undefined) {
        waiting.settle(undefined);
        return false;
      }
      // A system that does not list our own socket cannot tell whose the others are.
      if (inodes.has(inode) || !inodes.has(inodeOf(waiting.server) ?? '')) return true;
      waiting.settle({ reason: 'it comes from another network namespace' });
      return false;
    });
    const open = near.flatMap((waiting) => {
      const descriptor = descriptorOf(waiting.socket);
      if (descriptor === undefined) waiting.settle(undefined);
      return descriptor === undefined ? [] : [{ ...waiting, descriptor }];
    });
    if (open.length === 0) return;
    const commands = agentCommands.all();
    const peers = await peerCredentials(open.map(({ descriptor }) => descriptor));
    for (const [index, { settle }] of open.entries()) settle(verdict(peers?.[index], commands));
  }
}

function verdict(
  peer: PeerProcess | undefined,
  commands: Parameters<typeof agentTrace>[1],
): Omit<RefusedPeer, 'path'> | undefined {
  if (peer === undefined)
    return agentHasConnection(commands)
      ? { reason: 'its process cannot be determined while a command of an agent has connections' }
      : undefined;
  const reason = agentTrace(peer, commands);
  return reason === undefined ? undefined : { reason, ...peer };
}

/** Node keeps it, but does not document it. */
function descriptorOf(of: Socket | Server): number | undefined {
  const handle: unknown = Reflect.get(of, '_handle');
  const descriptor: unknown =
    typeof handle === 'object' && handle !== null ? Reflect.get(handle, 'fd') : undefined;
  return typeof descriptor === 'number' && descriptor >= 0 ? descriptor : undefined;
}

function inodeOf(of: Socket | Server): string | undefined {
  const descriptor = descriptorOf(of);
  if (descriptor === undefined) return undefined;
  try {
    return inodeIn(readlinkSync(`/proc/self/fd/${descriptor}`));
  } catch {
    return undefined;
  }
}

/** The check of this process: it holds for all of its sockets. */
export const socketPeers = new SocketPeers();

/** As many as a child process can inherit without trouble. */
const MOST_AT_ONCE = 100;
