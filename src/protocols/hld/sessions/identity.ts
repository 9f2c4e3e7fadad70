import { createHash } from 'node:crypto';
import { APPROVAL_PREFIX } from '../wire.ts';

/**
 * Derives the Claude Code session id from our id. It is therefore known at once, is stable across restarts, and exists for sessions of
 * other doors too.
 */
export function claudeSessionId(sessionId: string): string {
  const hash = createHash('sha256').update(`claude-session ${sessionId}`).digest();
  // A UUID of version 8: custom format.
  hash.writeUInt8((hash.readUInt8(6) & 0x0f) | 0x80, 6);
  hash.writeUInt8((hash.readUInt8(8) & 0x3f) | 0x80, 8);
  const hex = hash.toString('hex', 0, 16);
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}

/** The number of a row of a conversation: unique across sessions, and increasing within a session. */
export function rowId(sessionId: string, sequence: number): number {
  const session = createHash('sha256').update(sessionId).digest().readUInt32BE(0);
  return session * ROWS_PER_SESSION + sequence;
}

/** With 32 bits for the session, the number is an integer that every JSON parser can represent. */
const ROWS_PER_SESSION = 2 ** 20;

export function wireApprovalId(approvalId: string): string {
  return `${APPROVAL_PREFIX}${approvalId}`;
}

/** Converts an id of the protocol to ours. Also accepts our id as other doors show it. */
export function approvalIdIn(wireId: string): string {
  return wireId.startsWith(APPROVAL_PREFIX) ? wireId.slice(APPROVAL_PREFIX.length) : wireId;
}
