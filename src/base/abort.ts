import { setMaxListeners } from 'node:events';

/**
 * Calls back when the signal fires, at once if it has. Returns what takes the callback away again: a signal that lives for
 * a whole run must not collect one listener for every step of it.
 */
export function onAbort(signal: AbortSignal, callback: () => void): () => void {
  if (signal.aborted) {
    callback();
    return () => {};
  }
  // A door's signal has a listener for each of its links: their number is no sign of a leak, since each is taken away.
  setMaxListeners(0, signal);
  signal.addEventListener('abort', callback, { once: true });
  return () => signal.removeEventListener('abort', callback);
}

/** A signal of one's own that also fires with another; any number may listen to it. `release` lets the other one go. */
export function derivedAbort(signal: AbortSignal): {
  readonly controller: AbortController;
  readonly release: () => void;
} {
  const controller = new AbortController();
  setMaxListeners(0, controller.signal);
  return { controller, release: onAbort(signal, () => controller.abort()) };
}
