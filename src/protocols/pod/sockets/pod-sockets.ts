import { once } from 'node:events';
import { readlinkSync, symlinkSync, unlinkSync } from 'node:fs';
import type { Server, Socket } from 'node:net';
import { join } from 'node:path';
import { asPolypodError, systemCodeOf } from '../../../base/index.ts';
import type { Pod } from '../../../pod/index.ts';
import { containFailures, listenUnix } from '../../../wire/index.ts';
import type { PodDoor } from '../pod-door.ts';
import { DEFAULT_DUPLEX, type DuplexOptions, serveDuplex } from '../duplex-link.ts';

export interface PodSocketsOptions extends DuplexOptions {
  /** Of this user alone; made if it is not there. */
  readonly directory: string;
  /** Reports an unexpected error that has ended a connection. */
  readonly caught?: (thrown: unknown) => void;
}

interface Listening {
  readonly server: Server;
  readonly sockets: Set<Socket>;
  name: string | undefined;
}

/** Unix sockets, one per pod: `<id>.sock`, and `<name>.sock` as a link to it for a pod that has a name of its own. */
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

  /** Listens for clients of a pod; answers with the path, also when it listened already. */
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

  /** Lets the pod be reached by a name as well; the caller knows that no other pod has it. Undefined takes it away. */
  async name(podId: string, name: string | undefined): Promise<void> {
    const listening = await this.#listening.get(podId);
    if (listening === undefined || listening.name === name) return;
    if (listening.name !== undefined) this.#unlink(listening.name, podId);
    listening.name = name !== undefined && isFileName(name) ? name : undefined;
    if (listening.name !== undefined) this.#link(listening.name, podId);
  }

  /** Ends the links of a pod and takes its socket away; its run goes on. */
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
      // Left behind by a process that was killed; what is no link is somebody's socket and stays.
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
  try {
    return readlinkSync(path);
  } catch {
    // Not there, or no link.
    return undefined;
  }
}

/** Names that are one file of their own, and too short to make the path too long. */
function isFileName(name: string): boolean {
  return /^[\p{L}\p{N}_][\p{L}\p{N}_. -]{0,35}$/u.test(name) && Buffer.byteLength(name) <= 36;
}
