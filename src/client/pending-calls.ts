import { type JsonObject, type PolypodError, uuidv7, withoutUndefined } from '../base/index.ts';
import { lineError, type PodReply } from './line.ts';

interface Call {
  readonly line: string;
  readonly resolve: (response: PodReply) => void;
  readonly reject: (error: PolypodError) => void;
}

/** Calls that wait for a response. After a lost connection they are sent again, with an idempotency key. */
export class PendingCalls {
  readonly #open = new Map<string, Call>();
  #count = 0;

  /** The lines of the open calls, in order. */
  lines(): readonly string[] {
    return [...this.#open.values()].map(({ line }) => line);
  }

  start(method: string, params: JsonObject | undefined, send: (line: string) => void): Promise<PodReply> {
    const requestId = `call-${(this.#count += 1)}`;
    const line = JSON.stringify({
      method,
      ...withoutUndefined({ params }),
      request_id: requestId,
      idempotency_key: uuidv7(),
    });
    return new Promise((resolve, reject) => {
      this.#open.set(requestId, { line, resolve, reject });
      send(line);
    });
  }

  /** Settles the call that the line responds to; returns false if there is none. */
  settle(response: PodReply): boolean {
    const call = response.requestId === undefined ? undefined : this.#open.get(response.requestId);
    if (call === undefined || response.requestId === undefined) return false;
    this.#open.delete(response.requestId);
    if (response.event === 'error') call.reject(lineError(response));
    else call.resolve(response);
    return true;
  }

  fail(error: PolypodError): void {
    for (const { reject } of this.#open.values()) reject(error);
    this.#open.clear();
  }
}
