import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { shape, systemCodeOf, tryParse } from '../../base/index.ts';
import { type DataPaths, tasksDirectory } from '../../setup/paths/index.ts';
import { AGENT_NAME } from '../../setup/config/index.ts';

type DataPlace = Pick<DataPaths, 'dataDirectory'>;

const AGENT = shape.fields(
  {
    version: shape.count(1),
    name: AGENT_NAME,
    /** Where it is reached from this machine. */
    url: shape.text(),
    pid: shape.count(1),
    startedAt: shape.text(),
    /** Whether its process is a daemon of its own, one that has other work too, or a program of the user's. */
    process: shape.choice(['own', 'daemon', 'program']),
  },
  {
    /** The certificate that it shows, for clients on this machine. */
    cert: shape.text(),
    /** Whether clients must show a certificate of their own. */
    clientCertificate: shape.flag,
    /** Whether it needs no key. */
    noAuth: shape.flag,
    /** When a program's process began, as the system tells it: pids are given again. */
    born: shape.text(),
  },
);

/** An agent that is reached over HTTP, as it is written down for clients on this machine while it is up. */
export type AgentRecord = shape.ValueOf<typeof AGENT>;

/** Said at every start of an agent without keys. */
export const NO_AUTH_WARNING = 'no key is needed: every program on this machine can give this agent tasks';

/** What an agent is called if nobody says otherwise. */
export const DEFAULT_AGENT = 'polypod';

/** Whose door it is, as a daemon's health names it. */
export function doorName(agent: string): string {
  return agent === DEFAULT_AGENT ? 'tasks' : `tasks:${agent}`;
}

function agentsDirectory(dataPaths: DataPlace): string {
  return join(tasksDirectory(dataPaths), 'agents');
}

/** How agents were started that come back with the next daemon. */
export function keptAgentsDirectory(dataPaths: DataPlace): string {
  return join(tasksDirectory(dataPaths), 'kept');
}

export function keptFile(dataPaths: DataPlace, name: string): string {
  return join(keptAgentsDirectory(dataPaths), `${name}.json`);
}

/** Whether an agent comes back with the next daemon. */
export function isKept(dataPaths: DataPlace, name: string): boolean {
  return existsSync(keptFile(dataPaths, name));
}

/** The key with which this user's own commands come in, at every agent of the data directory. */
export function clientKeyFile(dataPaths: DataPlace): string {
  return join(tasksDirectory(dataPaths), 'client.key');
}

/** Those that are written down, by name; one may have been killed since. */
export function readAgents(dataPaths: DataPlace): readonly AgentRecord[] {
  return jsonNamesIn(agentsDirectory(dataPaths)).flatMap((name) => readAgent(dataPaths, name) ?? []);
}

export function readAgent(dataPaths: DataPlace, name: string): AgentRecord | undefined {
  const text = readIfThere(recordFile(dataPaths, name));
  return text === undefined ? undefined : AGENT.read(tryParse(text), [], () => {});
}

export function readClientKey(dataPaths: DataPlace): string | undefined {
  return readIfThere(clientKeyFile(dataPaths))?.trim();
}

export function recordFile(dataPaths: DataPlace, name: string): string {
  return join(agentsDirectory(dataPaths), `${name}.json`);
}

/** The names of the JSON files of a directory, without their ending. */
export function jsonNamesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory)
      .filter((file) => file.endsWith('.json'))
      .map((file) => file.slice(0, -'.json'.length))
      .toSorted();
  } catch {
    // There was none so far.
    return [];
  }
}

export function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (thrown) {
    if (systemCodeOf(thrown) === 'ENOENT') return undefined;
    throw thrown;
  }
}
