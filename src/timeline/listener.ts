import type { Handler } from './handler.ts';
import type { EventOf, Kind } from './kind.ts';

/** A handler bound to one scope. It hides the type of the scope, so that one list can hold all handlers of a kind. */
export interface Listener<Event> {
  deliver(event: Event): void;
}

/** Creates a listener with a new scope for one block. */
export type ListenerFactory<Event> = () => Listener<Event>;

/** Receives the errors that handlers throw. */
export type HandlerErrorSink = (error: unknown, kind: Kind) => void;

/** Creates a listener that passes its handler's errors to `onError` instead of throwing. */
export function listen<K extends Kind, Scope extends object | undefined>(
  handler: Handler<K, Scope>,
  onError: HandlerErrorSink,
): Listener<EventOf<K>> {
  return new ScopedListener(handler, handler.scope(), onError);
}

/** Like `listen`, but a handler whose scope factory throws skips this block. */
export function listenOrSkipBlock<K extends Kind, Scope extends object | undefined>(
  handler: Handler<K, Scope>,
  onError: HandlerErrorSink,
): Listener<EventOf<K>> {
  try {
    return listen(handler, onError);
  } catch (error) {
    onError(error, handler.kind);
    return NO_LISTENER;
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

const NO_LISTENER: Listener<unknown> = { deliver: () => {} };
