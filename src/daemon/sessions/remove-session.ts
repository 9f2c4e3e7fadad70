import { PolypodError } from '../../base/index.ts';
import type { Host } from '../../pod/index.ts';
import { Layout } from '../../pod/sessions.ts';
import { readLock } from '../../store/index.ts';

/** Moves a session to the trash. Rejects a session that another process has open. */
export async function removeSession(host: Host, dataDirectory: string, id: string): Promise<void> {
  const row = host.sessions.get(id);
  const layout = new Layout(dataDirectory);
  const holder = readLock(row === undefined ? layout.session(id) : layout.path(row.file));
  if (holder !== undefined && holder.state !== 'dead' && holder.owner.pid !== process.pid)
    throw new PolypodError(
      'conflict',
      `the session ${id} is in use by process ${holder.owner.pid}: end it there first`,
    );
  await host.delete(id);
}
