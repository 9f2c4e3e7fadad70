import { once } from 'node:events';

/** Resolves with the promise, or rejects with the signal's reason if the signal aborts first. */
export async function orAbort<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const settled = new AbortController();
  try {
    return await Promise.race([promise, rejectOnAbort(signal, settled.signal)]);
  } finally {
    settled.abort();
  }
}

async function rejectOnAbort(signal: AbortSignal, settled: AbortSignal): Promise<never> {
  if (!signal.aborted) await once(signal, 'abort', { signal: settled });
  throw signal.reason;
}
