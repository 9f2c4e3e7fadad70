import { once } from 'node:events';

/** What the promise brings, unless the signal comes first: then this rejects with the signal's reason. */
export async function orAbort<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const settled = new AbortController();
  try {
    return await Promise.race([promise, abortOf(signal, settled.signal)]);
  } finally {
    settled.abort();
  }
}

async function abortOf(signal: AbortSignal, settled: AbortSignal): Promise<never> {
  if (!signal.aborted) await once(signal, 'abort', { signal: settled });
  throw signal.reason;
}
