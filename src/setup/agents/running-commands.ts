import { type JsonObject, numberOf, stringOf } from '../../base/index.ts';
import { processState, thisProcess } from '../../store/index.ts';
import { CommandLedger, type CommandRecord, endOrphans, type OwnerState } from '../../tools/index.ts';
import { commandsDirectory, type DataPaths } from '../paths/data-paths.ts';

/** The record of running commands of a data directory, for all processes that host agents. */
export function commandLedger(dataPaths: Pick<DataPaths, 'dataDirectory'>): CommandLedger {
  return new CommandLedger(commandsDirectory(dataPaths), { ...thisProcess() });
}

/** Ends the commands of killed processes of this data directory. */
export async function endOrphanedCommands(
  dataPaths: Pick<DataPaths, 'dataDirectory'>,
): Promise<readonly CommandRecord[]> {
  return endOrphans(commandLedger(dataPaths), ownerState);
}

function ownerState(owner: JsonObject): OwnerState {
  const identity = {
    pid: numberOf(owner.pid) ?? 0,
    startedAt: stringOf(owner.startedAt),
    bootId: stringOf(owner.bootId),
    host: stringOf(owner.host),
  };
  // A process on another machine must be ended there.
  if (processState(identity) !== 'dead') return 'alive';
  return identity.bootId === thisProcess().bootId ? 'dead' : 'rebooted';
}
