import { createHmac, timingSafeEqual } from 'node:crypto';

/**
 * Lets an agent prove that it is the one a key was made for, before the client sends the key. The client sends
 * the key's id and a random nonce; the agent answers with their HMAC under the key's hash, which only the agent
 * has. The port is included, so that another program cannot relay the agent's answer.
 */
export const CHALLENGE_HEADER = 'x-polypod-challenge';
export const PROOF_HEADER = 'x-polypod-proof';

export interface Challenge {
  readonly keyId: string;
  /** Hexadecimal digits, generated for each challenge. */
  readonly nonce: string;
}

export function encodeChallenge({ keyId, nonce }: Challenge): string {
  return `${keyId}.${nonce}`;
}

/** Returns undefined for anything but a challenge. */
export function decodeChallenge(text: string): Challenge | undefined {
  const [, keyId, nonce] = /^([0-9a-z]{8,32})\.([0-9a-f]{32,64})$/.exec(text) ?? [];
  return keyId === undefined || nonce === undefined ? undefined : { keyId, nonce };
}

export function computeProof({ keyId, nonce }: Challenge, keyHash: string, port: number): string {
  return createHmac('sha256', Buffer.from(keyHash, 'hex'))
    .update(`polypod agent\n${keyId}\n${nonce}\n${port}`)
    .digest('hex');
}

/** Compares in constant time. */
export function isSameProof(left: string, right: string): boolean {
  return left.length === right.length && timingSafeEqual(Buffer.from(left), Buffer.from(right));
}
