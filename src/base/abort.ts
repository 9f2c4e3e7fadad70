/**
 * Calls back when the signal fires, at once if it has. Returns what takes the callback away again: a signal that lives for
 * a whole run must not collect one listener for every step of it.
 */
export function onAbort(signal: AbortSignal, callback: () => void): () => void {
  if (signal.aborted) {
    callback();
    return () => {};
  }
  signal.addEventListener('abort', callback, { once: true });
  return () => signal.removeEventListener('abort', callback);
}
