import { once } from 'node:events';
import { readlinkSync, symlinkSync, unlinkSync } from 'node:fs';
import type { Server, Socket } from 'node:net';
import { join } from 'node:path';
import { asPolypodError, systemCodeOf, tryOrUndefined } from '../../../base/index.ts';
import type { Pod } from '../../../pod/index.ts';
import { containFailures, listenUnix } from '../../../wire/index.ts';
import type { PodDoor } from '../pod-door.ts';
import { DEFAULT_DUPLEX, type DuplexOptions, serveDuplex } from '../duplex-link.ts';

export interface PodSocketsOptions extends DuplexOptions {
  /** Accessible only to this user. Created if it is missing. */
  readonly directory: string;
  /** Reports an unexpected error that has ended a connection. */
  readonly caught?: (thrown: unknown) => void;
}

interface Listening {
  readonly server: Server;
  readonly sockets: Set<Socket>;
  name: string | undefined;
}

/** Unix sockets, one per pod: `<id>.sock`, and the symbolic link `<name>.sock` for a pod with a unique name. */
export class PodSockets {
  readonly #door: PodDoor;
  readonly #options: PodSocketsOptions;
  readonly #listening = new Map<string, Promise<Listening>>();

  constructor(door: PodDoor, options: Partial<PodSocketsOptions> & Pick<PodSocketsOptions, 'directory'>) {
    this.#door = door;
    this.#options = { ...DEFAULT_DUPLEX, ...options };
  }

  get size(): number {
    return this.#listening.size;
  }

  has(podId: string): boolean {
    return this.#listening.has(podId);
  }

  pathOf(podId: string): string {
    return join(this.#options.directory, `${podId}.sock`);
  }

  /** Listens for clients of a pod. Returns the path, also if it was already listening. */
  async open(pod: Pod): Promise<string> {
    const known = this.#listening.get(pod.id);
    const listening = known ?? this.#listen(pod);
    this.#listening.set(pod.id, listening);
    try {
      await listening;
    } catch (thrown) {
      this.#listening.delete(pod.id);
      throw asPolypodError(thrown);
    }
    return this.pathOf(pod.id);
  }

  /** Makes the pod reachable by a name as well. The caller ensures that the name is unique. Undefined removes the name. */
  async name(podId: string, name: string | undefined): Promise<void> {
    const listening = await this.#listening.get(podId);
    if (listening === undefined || listening.name === name) return;
    if (listening.name !== undefined) this.#unlink(listening.name, podId);
    listening.name = name !== undefined && isFileName(name) ? name : undefined;
    if (listening.name !== undefined) this.#link(listening.name, podId);
  }

  /** Closes the connections of a pod and removes its socket. Its run continues. */
  async close(podId: string): Promise<void> {
    const opening = this.#listening.get(podId);
    this.#listening.delete(podId);
    const listening = await opening?.catch(() => undefined);
    if (listening === undefined) return;
    const { server, sockets, name } = listening;
    if (name !== undefined) this.#unlink(name, podId);
    const closed = once(server, 'close');
    server.close();
    for (const socket of sockets) endSoon(socket, this.#options.lingerMs);
    await closed;
  }

  async closeAll(): Promise<void> {
    await Promise.all([...this.#listening.keys()].map((podId) => this.close(podId)));
  }

  async #listen(pod: Pod): Promise<Listening> {
    const sockets = new Set<Socket>();
    const accept = (socket: Socket): void => {
      sockets.add(socket);
      containFailures(socket, (thrown) => this.#options.caught?.(thrown));
      socket.once('close', () => sockets.delete(socket));
      void serveDuplex(this.#door, pod, socket, this.#options);
    };
    const server = await listenUnix(this.pathOf(pod.id), accept, {
      refusal: (message) => `${JSON.stringify({ event: 'error', data: { code: 'internal', message } })}\n`,
    });
    return { server, sockets, name: undefined };
  }

  #link(name: string, podId: string): void {
    const path = join(this.#options.directory, `${name}.sock`);
    try {
      symlinkSync(`${podId}.sock`, path);
    } catch (thrown) {
      if (systemCodeOf(thrown) !== 'EEXIST') throw asPolypodError(thrown);
      // A link of a process that was killed is replaced. Anything else is another socket and stays.
      if (targetOf(path) === undefined) return;
      unlinkSync(path);
      symlinkSync(`${podId}.sock`, path);
    }
  }

  #unlink(name: string, podId: string): void {
    const path = join(this.#options.directory, `${name}.sock`);
    if (targetOf(path) === `${podId}.sock`) unlinkSync(path);
  }
}

function endSoon(socket: Socket, lingerMs: number): void {
  const timer = setTimeout(() => socket.destroy(), lingerMs);
  socket.once('close', () => clearTimeout(timer));
  socket.end(() => socket.destroy());
}

function targetOf(path: string): string | undefined {
  // The file is missing or not a symbolic link.
  return tryOrUndefined(() => readlinkSync(path));
}

/** Names that are a valid file name and short enough for a socket path. */
function isFileName(name: string): boolean {
  return /^[\p{L}\p{N}_][\p{L}\p{N}_. -]{0,35}$/u.test(name) && Buffer.byteLength(name) <= 36;
}
