import { asPolypodError, type PolypodError } from '../../../base/index.ts';
import type { Peer } from '../peer.ts';

export type EditorAnswer =
  | { readonly type: 'result'; readonly result: unknown }
  | { readonly type: 'error'; readonly error: PolypodError }
  | { readonly type: 'disconnected' }
  | { readonly type: 'unanswered' };

/** Sends a request that is withdrawn after a time. Rejects only if the signal aborts. */
export async function requestWithin(
  limitMs: number,
  peer: Peer,
  method: string,
  params: object,
  signal: AbortSignal,
): Promise<EditorAnswer> {
  const timeout = AbortSignal.timeout(limitMs);
  try {
    const result = await peer.request(method, params, AbortSignal.any([signal, timeout]));
    return { type: 'result', result };
  } catch (thrown) {
    signal.throwIfAborted();
    if (peer.isOver) return { type: 'disconnected' };
    return timeout.aborted ? { type: 'unanswered' } : { type: 'error', error: asPolypodError(thrown) };
  }
}
