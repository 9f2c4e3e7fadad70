import { existsSync } from 'node:fs';
import { PolypodError } from '../../base/index.ts';
import { type ControlLink, openControlLink } from '../../control/index.ts';
import { daemonLink } from '../../daemon/index.ts';
import { daemonLock, type DataPaths, hostSocket } from '../../setup/index.ts';
import { Layout, type Row } from '../../pod/sessions.ts';
import { readLock } from '../../store/index.ts';

/** The process that has a session open, if it is neither this one nor the daemon. */
export interface SessionOwner {
  readonly id: string;
  /** Connects to the process that has the session open now: another one may have opened it since. */
  readonly connect: () => Promise<ControlLink | undefined>;
}

/** Finds the owner of a session; undefined if no other process has it open, or if that process accepts no connections. */
export function ownerOf(row: Pick<Row, 'id' | 'file'>, dataPaths: DataPaths): SessionOwner | undefined {
  if (socketOfOwner(row, dataPaths) === undefined) return undefined;
  return {
    id: row.id,
    connect: async () => {
      const socket = socketOfOwner(row, dataPaths);
      return socket === undefined ? daemonLink(dataPaths) : openControlLink(socket, 'host');
    },
  };
}

/** Rejects a session that another process has open, with how to access it. */
export function refuseIfOpenElsewhere(row: Pick<Row, 'id' | 'file'>, dataPaths: DataPaths): void {
  const holder = holderElsewhere(row.file, dataPaths);
  if (holder === undefined) return;
  const next =
    socketOfOwner(row, dataPaths) === undefined
      ? 'use it there, or end that process'
      : `polypod attach ${row.id} joins it there`;
  throw new PolypodError('conflict', `the session ${row.id} is open in process ${holder}: ${next}`);
}

function socketOfOwner({ file }: Pick<Row, 'file'>, dataPaths: DataPaths): string | undefined {
  const holder = holderElsewhere(file, dataPaths);
  const socket = holder === undefined ? undefined : hostSocket(dataPaths, holder);
  return socket !== undefined && existsSync(socket) ? socket : undefined;
}

function holderElsewhere(file: string, dataPaths: DataPaths): number | undefined {
  const holder = readLock(new Layout(dataPaths.dataDirectory).path(file));
  if (holder === undefined || holder.state === 'dead') return undefined;
  const { pid } = holder.owner;
  const isOurs = pid === process.pid || pid === readLock(daemonLock(dataPaths))?.owner.pid;
  return isOurs ? undefined : pid;
}
