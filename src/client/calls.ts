import { type JsonObject, type PolypodError, uuidv7 } from '../base/index.ts';
import { errorIn, type PodLine } from './line.ts';

interface Call {
  readonly line: string;
  readonly resolve: (answer: PodLine) => void;
  readonly reject: (error: PolypodError) => void;
}

/** Calls that wait for their answer. One that a broken connection left open is sent again, under a key that nothing is done twice with. */
export class Calls {
  readonly #open = new Map<string, Call>();
  #count = 0;

  /** The lines to be sent, those of open calls in their order. */
  lines(): readonly string[] {
    return [...this.#open.values()].map(({ line }) => line);
  }

  begin(method: string, params: JsonObject | undefined, send: (line: string) => void): Promise<PodLine> {
    const requestId = `call-${(this.#count += 1)}`;
    const line = JSON.stringify({
      method,
      ...(params && { params }),
      request_id: requestId,
      idempotency_key: uuidv7(),
    });
    return new Promise((resolve, reject) => {
      this.#open.set(requestId, { line, resolve, reject });
      send(line);
    });
  }

  /** Whether the line answers one of them. */
  settle(answer: PodLine): boolean {
    const call = answer.requestId === undefined ? undefined : this.#open.get(answer.requestId);
    if (call === undefined || answer.requestId === undefined) return false;
    this.#open.delete(answer.requestId);
    if (answer.event === 'error') call.reject(errorIn(answer));
    else call.resolve(answer);
    return true;
  }

  fail(error: PolypodError): void {
    for (const { reject } of this.#open.values()) reject(error);
    this.#open.clear();
  }
}
