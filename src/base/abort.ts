import { setMaxListeners } from 'node:events';

/**
 * Calls the callback when the signal aborts, immediately if it already has. Returns a function that removes the callback:
 * a signal that lives for a whole run must not collect one listener per step.
 */
export function onAbort(signal: AbortSignal, callback: () => void): () => void {
  if (signal.aborted) {
    callback();
    return () => {};
  }
  // A door's signal has one listener per connection, each removed later: a high count is not a leak.
  setMaxListeners(0, signal);
  signal.addEventListener('abort', callback, { once: true });
  return () => signal.removeEventListener('abort', callback);
}

/**
 * Waits for a promise, or until the signal aborts: then resolves with undefined. A race with one promise that lives as long as a
 * connection would keep every result of the connection in memory.
 */
export async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  let forget = (): void => {};
  const aborted = new Promise<undefined>((resolve) => {
    forget = onAbort(signal, () => resolve(undefined));
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    forget();
  }
}

/** Creates a controller that also aborts when `signal` does, without a listener limit. `release` detaches it from `signal`. */
export function derivedAbort(signal: AbortSignal): {
  readonly controller: AbortController;
  readonly release: () => void;
} {
  const controller = new AbortController();
  setMaxListeners(0, controller.signal);
  return { controller, release: onAbort(signal, () => controller.abort()) };
}
