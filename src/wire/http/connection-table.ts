import type { Socket } from 'node:net';
import { networkKey } from './network-address.ts';

interface Connection {
  readonly socket: Socket;
  readonly network: string;
  /** The id of the key that authenticated this connection. */
  owner?: string;
}

export interface ConnectionLimits {
  readonly connections: number;
  readonly connectionsPerAddress: number;
  readonly connectionsPerKey: number;
}

/**
 * Tracks the open connections of a server. A connection is trusted after a valid key was received on it. When
 * there are too many, the oldest untrusted one is closed: a client with a key authenticates within moments, a
 * connection held open by an attacker never does.
 */
export class ConnectionTable {
  readonly #limits: ConnectionLimits;
  readonly #all = new Map<string, Connection>();
  /** Untrusted connections, oldest first; also by network. */
  readonly #untrusted = new Set<string>();
  readonly #byNetwork = new Map<string, Set<string>>();
  /** The number of connections per key. */
  readonly #byOwner = new Map<string, number>();

  constructor(limits: ConnectionLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#all.size;
  }

  /** Tracks a connection until it closes. Closes it if the limit is reached and all others are trusted. */
  add(socket: Socket): void {
    const id = connectionId(socket);
    const network = networkKey(socket.remoteAddress ?? '');
    const sameNetwork = this.#byNetwork.get(network) ?? new Set();
    if (sameNetwork.size >= this.#limits.connectionsPerAddress) this.#closeFirst(sameNetwork);
    if (this.#all.size >= this.#limits.connections) this.#closeFirst(this.#untrusted);
    if (id === undefined || this.#all.size >= this.#limits.connections) {
      socket.destroy();
      return;
    }
    this.#all.set(id, { socket, network });
    this.#untrusted.add(id);
    sameNetwork.add(id);
    this.#byNetwork.set(network, sameNetwork);
    socket.once('close', () => {
      if (this.#all.get(id)?.socket === socket) this.#remove(id);
    });
  }

  /**
   * Marks the connection as authenticated by the key `owner`. Returns `full` if that key has too many
   * connections.
   */
  trust(socket: Socket, owner: string): 'new' | 'known' | 'full' {
    const id = connectionId(socket);
    const connection = id === undefined ? undefined : this.#all.get(id);
    if (id === undefined || connection === undefined || connection.owner !== undefined) return 'known';
    const count = this.#byOwner.get(owner) ?? 0;
    if (count >= this.#limits.connectionsPerKey) return 'full';
    this.#byOwner.set(owner, count + 1);
    connection.owner = owner;
    this.#removeUntrusted(id);
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
    this.#removeUntrusted(id);
    const owner = this.#all.get(id)?.owner;
    this.#all.delete(id);
    if (owner === undefined) return;
    const count = (this.#byOwner.get(owner) ?? 0) - 1;
    if (count > 0) this.#byOwner.set(owner, count);
    else this.#byOwner.delete(owner);
  }

  #removeUntrusted(id: string): void {
    if (!this.#untrusted.delete(id)) return;
    const { network } = this.#all.get(id) ?? { network: '' };
    const sameNetwork = this.#byNetwork.get(network);
    sameNetwork?.delete(id);
    if (sameNetwork?.size === 0) this.#byNetwork.delete(network);
  }
}

/** Returns the same id for a TLS socket and its underlying socket; undefined for a closed one. */
export function connectionId({ remoteAddress, remotePort }: Socket): string | undefined {
  return remoteAddress === undefined ? undefined : `${remoteAddress} ${remotePort}`;
}
