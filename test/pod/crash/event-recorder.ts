import type { Pod, PodEvent } from '../../../src/pod/index.ts';
import type { Note, PodName } from './ledger.ts';

type EventOf<T extends PodEvent['type']> = Extract<PodEvent, { readonly type: T }>;

/** A watcher that records all events, and resumes after the last number when the pod is closed. */
export class EventRecorder {
  readonly events: PodEvent[] = [];
  readonly #stop = new AbortController();
  readonly #listening: Promise<void>;
  #wake: () => void = () => {};

  constructor(pod: Pod, name: PodName, note: Note) {
    this.#listening = this.#longAnswerScenario(pod, name, note);
  }

  /** The first matching event of a type, past or future. */
  async waitFor<T extends PodEvent['type']>(
    type: T,
    matches: (event: EventOf<T>) => boolean = () => true,
  ): Promise<EventOf<T>> {
    for (;;) {
      const found = this.events.find(
        (event): event is EventOf<T> => event.type === type && matches(event as EventOf<T>),
      );
      if (found !== undefined) return found;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#listening;
  }

  async #longAnswerScenario(pod: Pod, name: PodName, note: Note): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      const after = this.events.at(-1)?.seq ?? 0;
      for await (const watched of pod.watch({ after, signal })) {
        if (watched.type === 'snapshot')
          throw new Error(`${name}: a snapshot in place of what follows ${after}`);
        const { events } = watched.batch;
        note({ type: 'received', pod: name, events });
        this.events.push(...events);
        this.#wake();
      }
    }
  }
}
