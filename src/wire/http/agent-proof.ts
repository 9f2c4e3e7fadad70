import { createHmac, timingSafeEqual } from 'node:crypto';

/**
 * How an agent proves that it is the one a key was made for, before the key is sent: the client sends the key's id and a
 * random text, and the agent answers with their HMAC under the key's hash, which only it has. The port is part of it, so that
 * another program cannot pass on what the agent answers.
 */
export const CHALLENGE_HEADER = 'x-polypod-challenge';
export const PROOF_HEADER = 'x-polypod-proof';

export interface Challenge {
  readonly keyId: string;
  /** Hexadecimal digits, made anew for each question. */
  readonly nonce: string;
}

export function encodeChallenge({ keyId, nonce }: Challenge): string {
  return `${keyId}.${nonce}`;
}

/** Undefined for anything but a challenge. */
export function decodeChallenge(text: string): Challenge | undefined {
  const [, keyId, nonce] = /^([0-9a-z]{8,32})\.([0-9a-f]{32,64})$/.exec(text) ?? [];
  return keyId === undefined || nonce === undefined ? undefined : { keyId, nonce };
}

export function proofOf({ keyId, nonce }: Challenge, keyHash: string, port: number): string {
  return createHmac('sha256', Buffer.from(keyHash, 'hex'))
    .update(`polypod agent\n${keyId}\n${nonce}\n${port}`)
    .digest('hex');
}

/** Takes the same time wherever the two differ. */
export function isSameProof(one: string, other: string): boolean {
  return one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other));
}
