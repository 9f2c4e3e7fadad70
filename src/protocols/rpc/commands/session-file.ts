import type { Snapshot } from '../../../pod/index.ts';
import type { RpcSession } from '../sessions/rpc-session.ts';

/** Absent for a session that is only in memory. */
export function sessionFile(
  { parts }: RpcSession,
  { id }: Pick<Snapshot, 'id'>,
): { readonly sessionFile?: string } {
  return parts.sessions.inMemory ? {} : { sessionFile: parts.host.fileOf(id) };
}
