import { openSync, writeSync } from 'node:fs';
import { Host } from '../../../src/pod/index.ts';
import { realFiles } from '../../../src/store/index.ts';
import { watched } from './boundaries.ts';
import type { Known } from './ledger.ts';
import { reopenPods, fullScenario } from './scenarios.ts';
import { agentsIn, Gates } from './test-agents.ts';

/** What a process does, and when it dies. */
export interface ChildOptions {
  readonly url: string;
  readonly directory: string;
  readonly cwd: string;
  readonly effectsFile: string;
  /** The file to which it appends what it knows, each line before anything else happens. */
  readonly ledger: string;
  /** The boundary at which it kills itself. */
  readonly killAt: number;
  /** Pods to open again; without them a new life starts. */
  readonly ids?: Readonly<Record<string, string>>;
}

const options: ChildOptions = JSON.parse(process.argv[2] ?? '');
const ledger = openSync(options.ledger, 'a');
const gates = new Gates();
let boundaries = 0;
const files = watched(realFiles, () => {
  if (boundaries === options.killAt) process.kill(process.pid, 'SIGKILL');
  boundaries += 1;
});
const { url, directory, cwd, effectsFile, ids } = options;
const note = (known: Known): void => void writeSync(ledger, `${JSON.stringify(known)}\n`);
const gate = (name: string): Promise<void> => (ids === undefined ? gates.wait(name) : Promise.resolve());
const host = await Host.open({ directory, agents: agentsIn(url, { effectsFile, gate }), files });
if (ids === undefined) await fullScenario(host, cwd, gates, note);
else await reopenPods(host, ids, note);
process.stdout.write(`${boundaries}\n`);
process.kill(process.pid, 'SIGKILL');
