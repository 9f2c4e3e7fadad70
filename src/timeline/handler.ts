import type { EventOf, Kind } from './kind.ts';

/**
 * Something that follows one kind of event. A block handler gets a scope of its own for every block, from the block's
 * start to its stop or abort; a meta handler gets one when it is registered and keeps it.
 *
 * A scope is an object because the handler fills it in place. Handlers are synchronous: the next event does not wait.
 */
export interface Handler<K extends Kind, Scope extends object | undefined = undefined> {
  readonly kind: K;
  // Properties, not methods: a method's parameters are compared both ways, and a handler that only takes a part of
  // its events or scope would compile.
  readonly scope: () => Scope;
  readonly onEvent: (scope: Scope, event: EventOf<K>) => void;
}

/** Makes a handler on the spot: of a function when it needs no scope, of a scope and a function when it does. */
export function handler<K extends Kind>(kind: K, onEvent: (event: EventOf<K>) => void): Handler<K>;
export function handler<K extends Kind, Scope extends object>(
  kind: K,
  parts: ScopedParts<K, Scope>,
): Handler<K, Scope>;
export function handler<K extends Kind, Scope extends object>(
  kind: K,
  parts: ((event: EventOf<K>) => void) | ScopedParts<K, Scope>,
): Handler<K> | Handler<K, Scope> {
  if (typeof parts !== 'function') return { kind, scope: parts.scope, onEvent: parts.onEvent };
  return { kind, scope: () => undefined, onEvent: (_scope: undefined, event: EventOf<K>) => parts(event) };
}

type ScopedParts<K extends Kind, Scope extends object> = Pick<Handler<K, Scope>, 'scope' | 'onEvent'>;
