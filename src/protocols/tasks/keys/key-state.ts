import type { KeyRecord } from './key.ts';

export type KeyState = 'good' | 'expired' | 'revoked';

/** Whether a key is valid at a time. */
export function keyState(
  { revokedAt, expiresAt }: Pick<KeyRecord, 'revokedAt' | 'expiresAt'>,
  now = Date.now(),
): KeyState {
  if (revokedAt !== undefined) return 'revoked';
  return expiresAt !== undefined && Date.parse(expiresAt) <= now ? 'expired' : 'good';
}
