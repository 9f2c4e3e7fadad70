import type { Pod } from '../../pod/index.ts';
import type { Broadcast } from './broadcast.ts';
import type { Link, LinkOptions, Receiver } from './link.ts';
import { type ListenOptions, PodListener } from './pod-listener.ts';
import type { WireEvent } from './wire.ts';

/** The Pod Protocol of a process. All links of a pod share one broadcast, however they connected. */
export class PodDoor {
  readonly #broadcasts = new Map<string, Promise<Broadcast>>();
  #refused = 0;
  #links = 0;

  /** The number of connected clients. */
  get links(): number {
    return this.#links;
  }

  /** The number of refused requests. */
  get refused(): number {
    return this.#refused;
  }

  /** Registers a function as a client of a pod, which is loaded if it is not in memory. */
  listen(pod: Pod, onEvent: (event: WireEvent) => void, options: ListenOptions = {}): Promise<PodListener> {
    return PodListener.open((receiver, link) => this.open(pod, receiver, link), onEvent, options);
  }

  /** Connects a client to a pod, which is loaded if necessary. Resolves when the client receives events. */
  async open(pod: Pod, receiver: Receiver, options: LinkOptions): Promise<Link> {
    const onRefused = (): void => {
      this.#refused += 1;
    };
    const onLeave = (): void => {
      this.#links -= 1;
    };
    const { Link: OpenLink } = await import('./open-link.ts');
    return this.join(pod, (broadcast) => {
      this.#links += 1;
      return new OpenLink(broadcast, receiver, { ...options, onRefused, onLeave });
    });
  }

  /** Adds a listener to a pod's broadcast. `add` is called while the broadcast is live, and must be synchronous. */
  async join<T>(pod: Pod, add: (broadcast: Broadcast) => T): Promise<T> {
    for (;;) {
      const broadcast = await this.#broadcast(pod);
      if (!broadcast.isOver) return add(broadcast);
    }
  }

  #broadcast(pod: Pod): Promise<Broadcast> {
    const known = this.#broadcasts.get(pod.id);
    if (known !== undefined) return known;
    const forget = (): void => {
      if (this.#broadcasts.get(pod.id) === opening) this.#broadcasts.delete(pod.id);
    };
    const opening = import('./open-link.ts').then(({ Broadcast: Opened }) => Opened.open(pod, forget));
    this.#broadcasts.set(pod.id, opening);
    opening.catch(forget);
    return opening;
  }
}
