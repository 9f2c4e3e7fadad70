import type { EventOf, Kind } from './kind.ts';

/**
 * Handles one kind of event. A block handler gets a new scope for every block, from its start to its stop or abort; a meta
 * handler gets one scope when it is registered.
 *
 * A scope is an object because the handler mutates it. Handlers are synchronous.
 */
export interface Handler<K extends Kind, Scope extends object | undefined = undefined> {
  readonly kind: K;
  // Properties, not methods: method parameters are bivariant, so a handler that accepts only some of its events would compile.
  readonly scope: () => Scope;
  readonly onEvent: (scope: Scope, event: EventOf<K>) => void;
}

/** Creates a handler from a function, or from a scope factory and a function. */
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
