import type { Socket } from 'node:net';
import { networkOf } from './network-of.ts';

interface Connection {
  readonly socket: Socket;
  readonly network: string;
}

export interface ConnectionLimits {
  readonly connections: number;
  readonly connectionsPerAddress: number;
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

  /** Whether the connection was not trusted before. */
  trust(socket: Socket): boolean {
    const id = connectionId(socket);
    return id !== undefined && this.#distrustNoMore(id);
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
    this.#all.delete(id);
  }

  #distrustNoMore(id: string): boolean {
    if (!this.#untrusted.delete(id)) return false;
    const { network } = this.#all.get(id) ?? { network: '' };
    const same = this.#byNetwork.get(network);
    same?.delete(id);
    if (same?.size === 0) this.#byNetwork.delete(network);
    return true;
  }
}

/** The same for a TLS socket and the plain one below it. Undefined for one that is closed already. */
export function connectionId({ remoteAddress, remotePort }: Socket): string | undefined {
  return remoteAddress === undefined ? undefined : `${remoteAddress} ${remotePort}`;
}
