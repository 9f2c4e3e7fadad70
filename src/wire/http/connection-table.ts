import type { Socket } from 'node:net';
import { networkOf } from './network-address.ts';

interface Connection {
  readonly socket: Socket;
  readonly network: string;
  /** Whose key came over it. */
  owner?: string;
}

export interface ConnectionLimits {
  readonly connections: number;
  readonly connectionsPerAddress: number;
  readonly connectionsPerKey: number;
}

/**
 * The open connections of a server. A connection is trusted once a good key came over it. Where there are too many, the oldest
 * one that is not trusted is closed: a client with a key needs a moment to show it, a connection held open by an attacker
 * never does.
 */
export class ConnectionTable {
  readonly #limits: ConnectionLimits;
  readonly #all = new Map<string, Connection>();
  /** Those that are not trusted, oldest first; also by network. */
  readonly #untrusted = new Set<string>();
  readonly #byNetwork = new Map<string, Set<string>>();
  /** How many connections each key has. */
  readonly #byOwner = new Map<string, number>();

  constructor(limits: ConnectionLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#all.size;
  }

  /** Adds a connection until it closes. Closes it instead if all others are trusted and there are too many. */
  add(socket: Socket): void {
    const id = connectionId(socket);
    const network = networkOf(socket.remoteAddress ?? '');
    const same = this.#byNetwork.get(network) ?? new Set();
    if (same.size >= this.#limits.connectionsPerAddress) this.#closeFirst(same);
    if (this.#all.size >= this.#limits.connections) this.#closeFirst(this.#untrusted);
    if (id === undefined || this.#all.size >= this.#limits.connections) {
      socket.destroy();
      return;
    }
    this.#all.set(id, { socket, network });
    this.#untrusted.add(id);
    same.add(id);
    this.#byNetwork.set(network, same);
    socket.once('close', () => {
      if (this.#all.get(id)?.socket === socket) this.#remove(id);
    });
  }

  /** The good key `owner` came over the connection. `full` if that key has too many already. */
  trust(socket: Socket, owner: string): 'new' | 'known' | 'full' {
    const id = connectionId(socket);
    const connection = id === undefined ? undefined : this.#all.get(id);
    if (id === undefined || connection === undefined || connection.owner !== undefined) return 'known';
    const count = this.#byOwner.get(owner) ?? 0;
    if (count >= this.#limits.connectionsPerKey) return 'full';
    this.#byOwner.set(owner, count + 1);
    connection.owner = owner;
    this.#distrustNoMore(id);
    return 'new';
  }

  closeAll(): void {
    for (const { socket } of this.#all.values()) socket.destroy();
  }

  #closeFirst(ids: ReadonlySet<string>): void {
    for (const id of ids) {
      const connection = this.#all.get(id);
      this.#remove(id);
      connection?.socket.destroy();
      return;
    }
  }

  #remove(id: string): void {
    this.#distrustNoMore(id);
    const owner = this.#all.get(id)?.owner;
    this.#all.delete(id);
    if (owner === undefined) return;
    const count = (this.#byOwner.get(owner) ?? 0) - 1;
    if (count > 0) this.#byOwner.set(owner, count);
    else this.#byOwner.delete(owner);
  }

  #distrustNoMore(id: string): void {
    if (!this.#untrusted.delete(id)) return;
    const { network } = this.#all.get(id) ?? { network: '' };
    const same = this.#byNetwork.get(network);
    same?.delete(id);
    if (same?.size === 0) this.#byNetwork.delete(network);
  }
}

/** The same for a TLS socket and the plain one below it. Undefined for one that is closed already. */
export function connectionId({ remoteAddress, remotePort }: Socket): string | undefined {
  return remoteAddress === undefined ? undefined : `${remoteAddress} ${remotePort}`;
}
