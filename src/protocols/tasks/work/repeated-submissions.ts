import type { KeyRecord } from '../keys/key.ts';
import type { SubmitReply, SubmitRequest } from '../wire.ts';

interface Accepted {
  readonly key: KeyRecord;
  readonly request: string;
  readonly podId: string;
  readonly reply: SubmitReply;
  readonly at: number;
}

/**
 * Caches the latest submissions with an idempotency key, so that a retry is answered without a command to the pod. The
 * pod's receipts decide everything that is not found here.
 */
export class RepeatedSubmissions {
  readonly #accepted = new Map<string, Accepted>();

  /** Only for the same request with the same version of the key: its limits may have changed since. */
  find(key: KeyRecord, idempotencyKey: string, request: SubmitRequest): Accepted | undefined {
    const found = this.#accepted.get(nameOf(key, idempotencyKey));
    if (found === undefined || found.key !== key || Date.now() - found.at > KEPT_MS) return undefined;
    return found.request === JSON.stringify(request) ? found : undefined;
  }

  add(
    key: KeyRecord,
    idempotencyKey: string,
    request: SubmitRequest,
    accepted: Pick<Accepted, 'podId' | 'reply'>,
  ): void {
    const name = nameOf(key, idempotencyKey);
    // A Map keeps insertion order, so the first entry is the oldest.
    this.#accepted.delete(name);
    this.#accepted.set(name, { key, request: JSON.stringify(request), at: Date.now(), ...accepted });
    const [oldest] = this.#accepted.keys();
    if (this.#accepted.size > MOST_KEPT && oldest !== undefined) this.#accepted.delete(oldest);
  }
}

/** The id of a key has no space. */
function nameOf({ id }: KeyRecord, idempotencyKey: string): string {
  return `${id} ${idempotencyKey}`;
}

const KEPT_MS = 10 * 60_000;
const MOST_KEPT = 1_000;
