import type { ClientServices } from '../../tools/index.ts';
import type { ServerValues } from '../settings.ts';

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

/**
 * The values that editors gave for the MCP servers of their sessions. They are often secrets, so they are kept in memory only:
 * the settings of a session have their names.
 */
export class EditorServerValues {
  readonly #values = new Map<string, ServerValues>();

  set(podId: string, values: ServerValues): void {
    this.#values.set(podId, values);
  }

  delete(podId: string): void {
    this.#values.delete(podId);
  }

  /** The values for a pod, else those of the pod that it inherited its settings from. */
  find(podId: string, parentOf: (podId: string) => string | undefined): ServerValues | undefined {
    const seen = new Set<string>();
    for (let id: string | undefined = podId; id !== undefined && !seen.has(id); id = parentOf(id)) {
      const values = this.#values.get(id);
      if (values !== undefined) return values;
      seen.add(id);
    }
    return undefined;
  }
}
