import { onAbort } from '../../../base/index.ts';
import type { JsonObject } from '../../../base/index.ts';
import type { RpcEvent, RpcUiRequest } from '../wire.ts';

type Dialog = Extract<RpcUiRequest, { readonly method: 'select' | 'confirm' | 'input' | 'editor' }>;
type Notice = Exclude<RpcUiRequest, Dialog>;

/** Dialogs and notices for the person at the client. Every dialog resolves, whatever the client does. */
export class UiRequests {
  readonly #send: (event: RpcEvent) => void;
  readonly #newId: () => string;
  readonly #open = new Map<string, (reply: JsonObject) => void>();

  constructor(send: (event: RpcEvent) => void, newId: () => string) {
    this.#send = send;
    this.#newId = newId;
  }

  notify(notice: Notice): void {
    this.#send({ type: 'extension_ui_request', id: this.#newId(), ...notice });
  }

  /** False if it is refused, dismissed or times out. */
  async confirm(
    request: Omit<Extract<Dialog, { method: 'confirm' }>, 'method'>,
    signal?: AbortSignal,
  ): Promise<boolean> {
    const { confirmed } = await this.#ask({ method: 'confirm', ...request }, signal);
    return confirmed === true;
  }

  /** Undefined if it is dismissed or times out. */
  async text(
    request: Exclude<Dialog, { method: 'confirm' }>,
    signal?: AbortSignal,
  ): Promise<string | undefined> {
    const { value } = await this.#ask(request, signal);
    return typeof value === 'string' ? value : undefined;
  }

  /** Handles a client's response. A late or unknown one is ignored. */
  answer(reply: JsonObject): void {
    if (typeof reply.id === 'string') this.#open.get(reply.id)?.(reply);
  }

  /** Dismisses all dialogs, because nobody will answer. */
  close(): void {
    for (const settle of this.#open.values()) settle(DISMISSED);
  }

  #ask(request: Dialog, signal: AbortSignal = NEVER): Promise<JsonObject> {
    if (signal.aborted) return Promise.resolve(DISMISSED);
    const id = this.#newId();
    return new Promise((resolve) => {
      const settle = (reply: JsonObject): void => {
        clearTimeout(timer);
        forget();
        this.#open.delete(id);
        resolve(reply);
      };
      let forget = (): void => {};
      const { timeout } = { timeout: undefined, ...request };
      const timer = timeout === undefined ? undefined : setTimeout(settle, timeout, DISMISSED);
      this.#open.set(id, settle);
      this.#send({ type: 'extension_ui_request', id, ...request });
      forget = onAbort(signal, () => {
        // Lets the host close a dialog that is no longer needed.
        this.notify({ method: 'cancel', targetId: id });
        settle(DISMISSED);
      });
    });
  }
}

const DISMISSED: JsonObject = { cancelled: true };
const NEVER = new AbortController().signal;
