import { onAbort, PolypodError } from '../base/index.ts';

/** A key, and until when it can be used, in epoch milliseconds. */
export interface ExpiringKey {
  readonly key: string;
  readonly expiresAt: number;
}

/** Obtains keys and keeps the current one. */
export interface KeyCache<Context> {
  /** The current key; obtains one if there is none or it has expired. */
  key(context: Context, signal: AbortSignal): Promise<string>;
  /** A new key, unless another request has already replaced the rejected one. */
  renew(rejected: string, context: Context, signal: AbortSignal): Promise<string>;
}

/** A key that expires so soon is renewed, so that it does not expire on its way. */
const MARGIN_MS = 30_000;

/** Keeps a key until shortly before it expires. Concurrent requests share one attempt to obtain it. */
export function createKeyCache<Context>(
  obtain: (context: Context, signal: AbortSignal) => Promise<ExpiringKey>,
): KeyCache<Context> {
  let current: ExpiringKey | undefined;
  let running: SharedAttempt | undefined;
  const next = async (context: Context, signal: AbortSignal): Promise<string> => {
    const shared = (running ??= startAttempt(
      (abandoned) => obtain(context, abandoned),
      () => (running = undefined),
    ));
    current = await shared.join(signal);
    return current.key;
  };
  return {
    key: async (context, signal) =>
      current !== undefined && Date.now() < current.expiresAt ? current.key : next(context, signal),
    renew: async (rejected, context, signal) =>
      current !== undefined && current.key !== rejected ? current.key : next(context, signal),
  };
}

/** The time until which a key is used that expires at this time. */
export function usedUntil(expiresAt: number, now: number): number {
  return Math.max(now + 1000, expiresAt - MARGIN_MS);
}

interface SharedAttempt {
  /** Waits for the key. When every waiting caller has cancelled, the attempt is aborted. */
  readonly join: (signal: AbortSignal) => Promise<ExpiringKey>;
}

function startAttempt(
  obtain: (signal: AbortSignal) => Promise<ExpiringKey>,
  onEnd: () => void,
): SharedAttempt {
  const abandoned = new AbortController();
  const key = obtain(abandoned.signal).finally(onEnd);
  let waiting = 0;
  return {
    join: (signal) =>
      new Promise((resolve, reject) => {
        waiting += 1;
        const removeListener = onAbort(signal, () => {
          waiting -= 1;
          if (waiting === 0) abandoned.abort();
          reject(new PolypodError('bad-request', 'cancelled'));
        });
        key.then(resolve, reject).finally(removeListener);
      }),
  };
}
