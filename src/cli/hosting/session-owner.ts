import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { PolypodError } from '../../base/index.ts';
import { daemonLock, type DataPaths } from '../../setup/index.ts';
import { Layout, type Row } from '../../pod/sessions.ts';
import { readLock } from '../../store/index.ts';

/** The socket by which a pod is reached that a process other than the daemon and this one has open, if it lets itself be reached. */
export function socketOfOwner(
  { id, file }: Pick<Row, 'id' | 'file'>,
  dataPaths: DataPaths,
): string | undefined {
  if (holderElsewhere(file, dataPaths) === undefined) return undefined;
  const socket = join(dataPaths.runtimeDirectory, 'pods', `${id}.sock`);
  return existsSync(socket) ? socket : undefined;
}

/** Refuses a session that another process has open, with how to get at it. */
export function refuseIfOpenElsewhere(row: Pick<Row, 'id' | 'file'>, dataPaths: DataPaths): void {
  const holder = holderElsewhere(row.file, dataPaths);
  if (holder === undefined) return;
  const next =
    socketOfOwner(row, dataPaths) === undefined
      ? 'use it there, or end that process'
      : `polypod attach ${row.id} joins it there`;
  throw new PolypodError('conflict', `the session ${row.id} is open in process ${holder}: ${next}`);
}

function holderElsewhere(file: string, dataPaths: DataPaths): number | undefined {
  const holder = readLock(new Layout(dataPaths.dataDirectory).path(file));
  if (holder === undefined || holder.state === 'dead') return undefined;
  const { pid } = holder.owner;
  const isOurs = pid === process.pid || pid === readLock(daemonLock(dataPaths))?.owner.pid;
  return isOurs ? undefined : pid;
}
