import { rmSync } from 'node:fs';
import { shape, tryParse } from '../../base/index.ts';
import type { Places } from '../../setup/paths/index.ts';
import { AGENT_NAME, TASKS } from '../../setup/config/index.ts';
import { jsonNamesIn, keptAgentsDirectory, keptFile, readIfThere } from './agent-files.ts';
import { writePrivate } from './write-agent.ts';

type DataPlace = Pick<Places, 'dataDirectory'>;

const KEPT = shape.fields(
  {
    version: shape.count(1),
    name: AGENT_NAME,
    cwd: shape.text(),
    stated: TASKS,
    /** Where it listened: one that may use any port comes back at the one that its clients know. */
    port: shape.count(1),
  },
  { config: shape.text() },
);

/** An agent that was started in a daemon, and how: it comes back with the next daemon, until somebody stops it. */
export type KeptAgent = shape.ValueOf<typeof KEPT>;

export function keepAgent(places: DataPlace, kept: Omit<KeptAgent, 'version'>): void {
  writePrivate(keptFile(places, kept.name), `${JSON.stringify({ version: 1, ...kept }, undefined, 2)}\n`);
}

export function forgetAgent(places: DataPlace, name: string): void {
  rmSync(keptFile(places, name), { force: true });
}

/** By name; undefined for one that cannot be read. */
export function keptAgents(places: DataPlace): ReadonlyMap<string, KeptAgent | undefined> {
  const names = jsonNamesIn(keptAgentsDirectory(places));
  return new Map(names.map((name) => [name, readKept(places, name)]));
}

function readKept(places: DataPlace, name: string): KeptAgent | undefined {
  const text = readIfThere(keptFile(places, name));
  const kept = text === undefined ? undefined : KEPT.read(tryParse(text), [], () => {});
  return kept?.version === 1 ? kept : undefined;
}
