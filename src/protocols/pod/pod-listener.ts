import type { JsonObject } from '../../base/index.ts';
import type { Pod } from '../../pod/index.ts';
import type { PodDoor } from './door.ts';
import type { Link, Receiver } from './link.ts';
import type { WireEvent, WireRequest } from './wire.ts';

export interface JoinOptions {
  /** Who it is, as others are told. */
  readonly by?: string;
  /** The pod was closed, or has failed, which was told before; or the function threw, and is not called again. */
  readonly onEnd?: (thrown?: unknown) => void;
}

/** A pod's client in this process: the same methods and events as on a socket, as objects. */
export class PodListener {
  readonly #link: Link;

  /** Listens from the moment it resolves. */
  static async join(
    door: PodDoor,
    pod: Pod,
    hear: (event: WireEvent) => void,
    { by = 'program', onEnd = () => {} }: JoinOptions = {},
  ): Promise<PodListener> {
    const receiver: Receiver = {
      take: ({ events }) => {
        for (const event of events) hear(event);
      },
      // What a function was called with is read.
      pending: () => 0,
      drained: () => Promise.resolve(),
      close: onEnd,
    };
    const link = await door.open(pod, receiver, { by, pendingBytes: 0 });
    return new PodListener(link);
  }

  private constructor(link: Link) {
    this.#link = link;
  }

  /** Sends a method. What is refused is told as on a socket, and thrown here as well. */
  async send(method: string, params?: JsonObject): Promise<void> {
    await this.request({ method, ...(params && { params }) });
  }

  /** The same with the extras of a line. */
  async request(line: WireRequest): Promise<void> {
    await this.#link.call({ ...line });
  }

  /** Listens no longer; a run goes on. */
  leave(): void {
    this.#link.leave();
  }
}
