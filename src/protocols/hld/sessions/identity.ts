import { createHash } from 'node:crypto';
import { APPROVAL_PREFIX } from '../wire.ts';

/**
 * The id that Claude Code would have given the session. It follows from ours, so it is known at once, is the same after a
 * restart, and sessions of other doors have one too.
 */
export function claudeSessionId(sessionId: string): string {
  const hash = createHash('sha256').update(`claude-session ${sessionId}`).digest();
  // A UUID of version 8: made by a rule of one's own.
  hash.writeUInt8((hash.readUInt8(6) & 0x0f) | 0x80, 6);
  hash.writeUInt8((hash.readUInt8(8) & 0x3f) | 0x80, 8);
  const hex = hash.toString('hex', 0, 16);
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}

/** A number for a row of a conversation: no two sessions share one, and within a session they grow. */
export function rowId(sessionId: string, sequence: number): number {
  const session = createHash('sha256').update(sessionId).digest().readUInt32BE(0);
  return session * ROWS_PER_SESSION + sequence;
}

/** With 32 bits for the session, all of it is a whole number that every JSON reader can hold. */
const ROWS_PER_SESSION = 2 ** 20;

export function wireApprovalId(approvalId: string): string {
  return `${APPROVAL_PREFIX}${approvalId}`;
}

/** Our id, from the wire's or as other doors show it. */
export function approvalIdIn(wireId: string): string {
  return wireId.startsWith(APPROVAL_PREFIX) ? wireId.slice(APPROVAL_PREFIX.length) : wireId;
}
