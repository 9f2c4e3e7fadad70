import type { ClientServices } from '../../tools/index.ts';

/** What connected clients do for the tools of pods. The client that offered last is used; when it leaves, the one before it. */
export class OfferedServices {
  readonly #offers = new Map<string, readonly ClientServices[]>();

  /** Offers services for a pod until the returned function is called. */
  offer(podId: string, services: ClientServices): () => void {
    // Equal objects of two clients are different offers.
    const own = { ...services };
    this.#offers.set(podId, [...this.#of(podId), own]);
    return () => {
      const rest = this.#of(podId).filter((other) => other !== own);
      if (rest.length === 0) this.#offers.delete(podId);
      else this.#offers.set(podId, rest);
    };
  }

  /** The services for a pod. If it has none itself, those of its parent are used: a sub-agent changes the same files. */
  find(podId: string, parentId: string | undefined): ClientServices | undefined {
    const own = this.#of(podId).at(-1);
    if (own !== undefined || parentId === undefined) return own;
    // The client shows no calls of the sub-agent, so it could not show their terminals.
    return { ...this.#of(parentId).at(-1), runInTerminal: undefined };
  }

  #of(podId: string): readonly ClientServices[] {
    return this.#offers.get(podId) ?? [];
  }
}
