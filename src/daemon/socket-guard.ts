import { readdirSync } from 'node:fs';
import { agentCommands } from '../base/index.ts';
import { socketPeers } from '../wire/index.ts';
import type { Config } from './config.ts';
import { commandsDirectory, type Places } from './places.ts';

/** Sets who may connect to the sockets of this process. The configuration is read again for every connection. */
export function guardSockets(
  places: Pick<Places, 'dataDirectory'>,
  config: () => Pick<Config, 'daemon'>,
): void {
  socketPeers.policy = {
    allowsAgents: () => config().daemon.allowAgentPeers === true,
    othersRunCommands: () => othersIn(commandsDirectory(places)),
  };
}

/** Whether a command is recorded that this process does not run. Records of commands that were ended do not count. */
function othersIn(directory: string): boolean {
  try {
    const own = new Set(agentCommands.all().map(({ mark }) => `${mark}.json`));
    return readdirSync(directory).some((name) => /^[^.]+\.json$/.test(name) && !own.has(name));
  } catch {
    // No command was run so far.
    return false;
  }
}
