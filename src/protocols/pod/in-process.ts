import { type JsonObject, onAbort, PolypodError } from '../../base/index.ts';
import type { Pod } from '../../pod/index.ts';
import type { PodDoor } from './door.ts';
import type { Link } from './link.ts';
import type { WireEvent, WireRequest } from './wire.ts';

export interface JoinOptions {
  /** Who it is, as others are told. */
  readonly by?: string;
}

/** A pod's client in this process: the same methods and events as on a socket, as objects. */
export class PodListener {
  readonly #link: Link;
  readonly #ended: Promise<void>;

  /** Listens from the moment it resolves. A listener that throws is not called again. */
  static async join(
    door: PodDoor,
    pod: Pod,
    hear: (event: WireEvent) => void,
    { by = 'program' }: JoinOptions = {},
  ): Promise<PodListener> {
    let onEnd = (): void => {};
    const ended = new Promise<void>((resolve) => {
      onEnd = resolve;
    });
    const receiver = {
      take: ({ events }: { readonly events: readonly WireEvent[] }) => events.forEach((event) => hear(event)),
      // What a function was called with is read.
      pending: () => 0,
      drained: () => Promise.resolve(),
      close: onEnd,
    };
    const link = await door.open(pod, receiver, { by, pendingBytes: 0 });
    return new PodListener(link, ended);
  }

  private constructor(link: Link, ended: Promise<void>) {
    this.#link = link;
    this.#ended = ended;
  }

  /** Resolves when the pod is closed. */
  get ended(): Promise<void> {
    return this.#ended;
  }

  /** Sends a method. What is refused is told as on a socket, and thrown here as well. */
  async send(method: string, params?: JsonObject): Promise<void> {
    await this.request({ method, ...(params && { params }) });
  }

  /** The same with the extras of a line. */
  async request(line: WireRequest): Promise<void> {
    await this.#link.call({ ...line });
  }

  /** Listens no longer; the run goes on. */
  leave(): void {
    this.#link.leave();
  }
}

/** Events that may wait for a reader. */
const MOST_WAITING = 100_000;

/** A pod's events for `for await`; ends with the pod or the signal. One that reads too slowly is told so, and may join again. */
export async function* podEvents(
  door: PodDoor,
  pod: Pod,
  { signal, first = [], by = 'program' }: PodEventsOptions,
): AsyncGenerator<WireEvent> {
  const waiting: WireEvent[] = [];
  let wake = (): void => {};
  let isOver = false;
  const end = (): void => {
    isOver = true;
    wake();
  };
  const listener = await PodListener.join(
    door,
    pod,
    (event) => {
      waiting.push(event);
      wake();
    },
    { by },
  );
  const forget = onAbort(signal, end);
  void listener.ended.then(end);
  try {
    for (const line of first) await listener.request(line);
    let lastSeq = 0;
    for (;;) {
      const next = waiting.shift();
      if (next !== undefined) {
        yield next;
        lastSeq = next.seq ?? lastSeq;
        if (waiting.length > MOST_WAITING)
          throw new PolypodError('overloaded', `more than ${MOST_WAITING} events were waiting: subscribe after ${lastSeq}`);
      } else if (isOver) return;
      else
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
    }
  } finally {
    forget();
    listener.leave();
  }
}

export interface PodEventsOptions {
  readonly signal: AbortSignal;
  /** Lines that are sent before anything else: `subscribe`, to have the extras or to resume. */
  readonly first?: readonly WireRequest[];
  readonly by?: string;
}
