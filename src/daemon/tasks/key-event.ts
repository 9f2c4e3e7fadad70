import type { AuditEvent } from '../../audit/index.ts';
import type { KeyRecord } from '../../protocols/index.ts';

/** The audit event of a created or changed key: everything but its hash. */
export function keyEvent(
  event: 'key.created' | 'key.revoked' | 'key.rotated',
  { id, hash: _, createdAt: _at, ...rest }: KeyRecord,
  who: Pick<AuditEvent, 'by' | 'door'>,
): AuditEvent {
  return { event, ...who, keyId: id, target: id, details: rest };
}
