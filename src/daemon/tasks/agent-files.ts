import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { shape, systemCodeOf, tryParse, namesIn } from '../../base/index.ts';
import { type DataPaths, tasksDirectory } from '../../setup/paths/index.ts';
import { AGENT_NAME } from '../../setup/config/index.ts';

type DataDirectory = Pick<DataPaths, 'dataDirectory'>;

const AGENT = shape.fields(
  {
    version: shape.integerFrom(1),
    name: AGENT_NAME,
    /** The URL for clients on this machine. */
    url: shape.text(),
    pid: shape.integerFrom(1),
    startedAt: shape.text(),
    /** Whether it runs in a daemon of its own, in a shared daemon, or as a separate program. */
    process: shape.choice(['own', 'daemon', 'program']),
  },
  {
    /** The certificate that it presents, for clients on this machine. */
    cert: shape.text(),
    /** Whether clients must present a certificate. */
    clientCertificate: shape.boolean,
    /** Whether it needs no key. */
    noAuth: shape.boolean,
    /** The start time of a program's process as the system reports it, because pids are reused. */
    born: shape.text(),
  },
);

/** The record of a running agent, for clients on this machine. */
export type AgentRecord = shape.ValueOf<typeof AGENT>;

/** Logged at every start of an agent without keys. */
export const NO_AUTH_WARNING =
  'no key is required: every program on this machine can submit tasks to this agent';

/** The default name of an agent. */
export const DEFAULT_AGENT = 'polypod';

/** The name of an agent's door in the health report. */
export function doorName(agent: string): string {
  return agent === DEFAULT_AGENT ? 'tasks' : `tasks:${agent}`;
}

function agentsDirectory(dataPaths: DataDirectory): string {
  return join(tasksDirectory(dataPaths), 'agents');
}

/** The directory of agents that the next daemon starts again. */
export function savedAgentsDirectory(dataPaths: DataDirectory): string {
  return join(tasksDirectory(dataPaths), 'kept');
}

export function savedAgentFile(dataPaths: DataDirectory, name: string): string {
  return join(savedAgentsDirectory(dataPaths), `${name}.json`);
}

/** Whether the next daemon starts an agent again. */
export function isKept(dataPaths: DataDirectory, name: string): boolean {
  return existsSync(savedAgentFile(dataPaths, name));
}

/** The file with the key of this user's own commands, for every agent of the data directory. */
export function clientKeyFile(dataPaths: DataDirectory): string {
  return join(tasksDirectory(dataPaths), 'client.key');
}

/** The recorded agents, by name; some may have been killed since. */
export function readAgents(dataPaths: DataDirectory): readonly AgentRecord[] {
  return jsonNamesIn(agentsDirectory(dataPaths)).flatMap((name) => readAgent(dataPaths, name) ?? []);
}

export function readAgent(dataPaths: DataDirectory, name: string): AgentRecord | undefined {
  const text = readIfThere(recordFile(dataPaths, name));
  return text === undefined ? undefined : AGENT.read(tryParse(text), [], () => {});
}

export function readClientKey(dataPaths: DataDirectory): string | undefined {
  return readIfThere(clientKeyFile(dataPaths))?.trim();
}

export function recordFile(dataPaths: DataDirectory, name: string): string {
  return join(agentsDirectory(dataPaths), `${name}.json`);
}

/** The names of the JSON files of a directory, without the extension. */
export function jsonNamesIn(directory: string): readonly string[] {
  return namesIn(directory)
    .filter((file) => file.endsWith('.json'))
    .map((file) => file.slice(0, -'.json'.length))
    .toSorted();
}

export function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (thrown) {
    if (systemCodeOf(thrown) === 'ENOENT') return undefined;
    throw thrown;
  }
}
