import type { Snapshot } from '../../../pod/index.ts';
import type { Seat } from '../sessions/rpc-session.ts';

/** Absent for a session that is kept in memory. */
export function sessionFile(
  { parts }: Seat,
  { id }: Pick<Snapshot, 'id'>,
): { readonly sessionFile?: string } {
  return parts.sessions.inMemory ? {} : { sessionFile: parts.host.fileOf(id) };
}
