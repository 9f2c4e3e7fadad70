import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { PolypodError } from '../../base/index.ts';
import { daemonLock, type Places } from '../../setup/index.ts';
import { Layout, type Row } from '../../pod/sessions.ts';
import { readLock } from '../../store/index.ts';

/** The socket by which a pod is reached that a process other than the daemon and this one has open, if it lets itself be reached. */
export function socketElsewhere({ id, file }: Pick<Row, 'id' | 'file'>, places: Places): string | undefined {
  if (holderElsewhere(file, places) === undefined) return undefined;
  const socket = join(places.runtimeDirectory, 'pods', `${id}.sock`);
  return existsSync(socket) ? socket : undefined;
}

/** Refuses a session that another process has open, with how to get at it. */
export function refuseHeld(row: Pick<Row, 'id' | 'file'>, places: Places): void {
  const holder = holderElsewhere(row.file, places);
  if (holder === undefined) return;
  const next =
    socketElsewhere(row, places) === undefined
      ? 'use it there, or end that process'
      : `polypod attach ${row.id} joins it there`;
  throw new PolypodError('conflict', `the session ${row.id} is open in process ${holder}: ${next}`);
}

function holderElsewhere(file: string, places: Places): number | undefined {
  const holder = readLock(new Layout(places.dataDirectory).path(file));
  if (holder === undefined || holder.state === 'dead') return undefined;
  const { pid } = holder.owner;
  const isOurs = pid === process.pid || pid === readLock(daemonLock(places))?.owner.pid;
  return isOurs ? undefined : pid;
}
