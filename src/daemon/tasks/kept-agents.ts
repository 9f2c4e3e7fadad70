import { rmSync } from 'node:fs';
import { shape, tryParse } from '../../base/index.ts';
import type { DataPaths } from '../../setup/paths/index.ts';
import { AGENT_NAME, TASKS } from '../../setup/config/index.ts';
import { jsonNamesIn, keptAgentsDirectory, keptFile, readIfThere } from './agent-files.ts';
import { writePrivate } from './write-agent.ts';

type DataPlace = Pick<DataPaths, 'dataDirectory'>;

const KEPT = shape.fields(
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
export type KeptAgent = shape.ValueOf<typeof KEPT>;

export function keepAgent(dataPaths: DataPlace, kept: Omit<KeptAgent, 'version'>): void {
  writePrivate(keptFile(dataPaths, kept.name), `${JSON.stringify({ version: 1, ...kept }, undefined, 2)}\n`);
}

export function forgetAgent(dataPaths: DataPlace, name: string): void {
  rmSync(keptFile(dataPaths, name), { force: true });
}

/** By name; undefined for an unreadable file. */
export function keptAgents(dataPaths: DataPlace): ReadonlyMap<string, KeptAgent | undefined> {
  const names = jsonNamesIn(keptAgentsDirectory(dataPaths));
  return new Map(names.map((name) => [name, readKept(dataPaths, name)]));
}

function readKept(dataPaths: DataPlace, name: string): KeptAgent | undefined {
  const text = readIfThere(keptFile(dataPaths, name));
  const kept = text === undefined ? undefined : KEPT.read(tryParse(text), [], () => {});
  return kept?.version === 1 ? kept : undefined;
}
