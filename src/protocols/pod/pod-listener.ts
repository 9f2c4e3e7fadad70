import { type JsonObject, withoutUndefined } from '../../base/index.ts';
import type { Link, LinkOptions, Receiver } from './link.ts';
import type { WireEvent, WireRequest } from './wire.ts';

export interface ListenOptions {
  /** The name that other clients see as the sender of its requests. */
  readonly name?: string;
  /** Called once when no more events follow: the pod was closed or failed, or the function threw this error. */
  readonly onEnd?: (thrown?: unknown) => void;
}

/** A client of a pod in this process. It uses the methods and events of a socket as objects. */
export class PodListener {
  readonly #link: Link;

  /** Calls the function with every event from the moment this resolves; see `PodDoor.listen`. */
  static async open(
    openLink: (receiver: Receiver, options: LinkOptions) => Promise<Link>,
    onEvent: (event: WireEvent) => void,
    { name = 'program', onEnd = () => {} }: ListenOptions = {},
  ): Promise<PodListener> {
    const receiver: Receiver = {
      take: ({ events }) => {
        for (const event of events) onEvent(event);
      },
      // The function has consumed the events when it returns.
      pending: () => 0,
      drained: () => Promise.resolve(),
      close: onEnd,
    };
    const link = await openLink(receiver, { by: name, pendingBytes: 0 });
    return new PodListener(link);
  }

  private constructor(link: Link) {
    this.#link = link;
  }

  /** Sends a method. Resolves when it is accepted. A refusal is sent as an event, as on a socket, and is also thrown. */
  async send(method: string, params?: JsonObject): Promise<void> {
    await this.request({ method, ...withoutUndefined({ params }) });
  }

  /** Sends a complete request, with `request_id` or `idempotency_key`. */
  async request(line: WireRequest): Promise<void> {
    await this.#link.call({ ...line });
  }

  /** Removes the listener. A run continues. */
  close(): void {
    this.#link.leave();
  }
}
