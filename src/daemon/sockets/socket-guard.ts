import { readdirSync } from 'node:fs';
import type { Audit } from '../../audit/index.ts';
import { agentCommands } from '../../base/index.ts';
import { type RefusedPeer, socketPeers } from '../../wire/index.ts';
import type { Config } from '../../setup/config/index.ts';
import { commandsDirectory, type DataPaths } from '../../setup/paths/index.ts';

export interface GuardOptions {
  readonly config: () => Pick<Config, 'daemon'>;
  readonly audit?: Audit | undefined;
  readonly onRefused?: (refused: RefusedPeer) => void;
}

/**
 * Sets which processes may connect to the sockets of this one, and records rejected ones. Reads the configuration for every
 * connection. Returns a function that stops recording.
 */
export function guardSockets(dataPaths: Pick<DataPaths, 'dataDirectory'>, options: GuardOptions): () => void {
  const { config, audit, onRefused } = options;
  socketPeers.policy = {
    allowsAgents: () => config().daemon.allowAgentPeers === true,
    othersRunCommands: () => othersIn(commandsDirectory(dataPaths)),
  };
  return socketPeers.onRefused((refused) => {
    const { path, ...details } = refused;
    audit?.({ event: 'connection.refused', door: 'socket', target: path, outcome: 'denied', details });
    onRefused?.(refused);
  });
}

/** Whether a command of another process is recorded. Records of ended commands do not count. */
function othersIn(directory: string): boolean {
  try {
    const own = new Set(agentCommands.all().map(({ mark }) => `${mark}.json`));
    return readdirSync(directory).some((name) => /^[^.]+\.json$/.test(name) && !own.has(name));
  } catch {
    // No command has been run yet.
    return false;
  }
}
