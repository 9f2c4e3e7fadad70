import { rmSync } from 'node:fs';
import { shape, tryParse } from '../../base/index.ts';
import type { DataPaths } from '../../setup/paths/index.ts';
import { AGENT_NAME, TASKS } from '../../setup/config/index.ts';
import { jsonNamesIn, savedAgentsDirectory, savedAgentFile, readIfThere } from './agent-files.ts';
import { writePrivate } from './write-agent.ts';

type DataDirectory = Pick<DataPaths, 'dataDirectory'>;

const SAVED_AGENT = shape.fields(
  {
    version: shape.integerFrom(1),
    name: AGENT_NAME,
    cwd: shape.text(),
    stated: TASKS,
    /** The last port: an agent that may use any port is restored on the one that its clients know. */
    port: shape.integerFrom(1),
  },
  { config: shape.text() },
);

/** An agent that was started in a daemon, and its options. The next daemon starts it again, unless it was stopped. */
export type SavedAgent = shape.ValueOf<typeof SAVED_AGENT>;

export function saveAgent(dataPaths: DataDirectory, saved: Omit<SavedAgent, 'version'>): void {
  writePrivate(
    savedAgentFile(dataPaths, saved.name),
    `${JSON.stringify({ version: 1, ...saved }, undefined, 2)}\n`,
  );
}

export function forgetAgent(dataPaths: DataDirectory, name: string): void {
  rmSync(savedAgentFile(dataPaths, name), { force: true });
}

/** By name; undefined for an unreadable file. */
export function savedAgents(dataPaths: DataDirectory): ReadonlyMap<string, SavedAgent | undefined> {
  const names = jsonNamesIn(savedAgentsDirectory(dataPaths));
  return new Map(names.map((name) => [name, readSavedAgent(dataPaths, name)]));
}

function readSavedAgent(dataPaths: DataDirectory, name: string): SavedAgent | undefined {
  const text = readIfThere(savedAgentFile(dataPaths, name));
  const saved = text === undefined ? undefined : SAVED_AGENT.read(tryParse(text), [], () => {});
  return saved?.version === 1 ? saved : undefined;
}
