import { type JsonObject, numberOf, stringOf } from '../../base/index.ts';
import { stateOfProcess, thisProcess } from '../../store/index.ts';
import { CommandLedger, type CommandRecord, endOrphans, type OwnerState } from '../../tools/index.ts';
import { commandsDirectory, type DataPaths } from '../paths/data-paths.ts';

/** The commands that run for agents of a data directory, whichever process hosts them. */
export function commandLedger(dataPaths: Pick<DataPaths, 'dataDirectory'>): CommandLedger {
  return new CommandLedger(commandsDirectory(dataPaths), { ...thisProcess() });
}

/** Ends the commands that a killed process has left behind on this data directory. */
export async function endLeftCommands(
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
  // A process of another machine is that machine's to end.
  if (stateOfProcess(identity) !== 'dead') return 'alive';
  return identity.bootId === thisProcess().bootId ? 'dead' : 'rebooted';
}
