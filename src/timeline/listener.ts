import type { Handler } from './handler.ts';
import type { EventOf, Kind } from './kind.ts';

/** A handler together with one scope. The scope's type ends here, so handlers of any scope fit in one list. */
export interface Listener<Event> {
  deliver(event: Event): void;
}

/** Starts a handler on one more block, with a fresh scope. */
export type Begin<Event> = () => Listener<Event>;

/** Where the errors of handlers go. */
export type HandlerErrorSink = (error: unknown, kind: Kind) => void;

/** A listener that keeps its handler's errors from the other handlers. */
export function listen<K extends Kind, Scope extends object | undefined>(
  handler: Handler<K, Scope>,
  onError: HandlerErrorSink,
): Listener<EventOf<K>> {
  return new ScopedListener(handler, handler.scope(), onError);
}

/** As `listen`, for the middle of a stream: a handler that cannot make its scope sits this block out. */
export function listenOrSitOut<K extends Kind, Scope extends object | undefined>(
  handler: Handler<K, Scope>,
  onError: HandlerErrorSink,
): Listener<EventOf<K>> {
  try {
    return listen(handler, onError);
  } catch (error) {
    onError(error, handler.kind);
    return SILENT;
  }
}

class ScopedListener<K extends Kind, Scope extends object | undefined> implements Listener<EventOf<K>> {
  readonly #handler: Handler<K, Scope>;
  readonly #scope: Scope;
  readonly #onError: HandlerErrorSink;

  constructor(handler: Handler<K, Scope>, scope: Scope, onError: HandlerErrorSink) {
    this.#handler = handler;
    this.#scope = scope;
    this.#onError = onError;
  }

  deliver(event: EventOf<K>): void {
    try {
      this.#handler.onEvent(this.#scope, event);
    } catch (error) {
      this.#onError(error, this.#handler.kind);
    }
  }
}

const SILENT: Listener<unknown> = { deliver: () => {} };
