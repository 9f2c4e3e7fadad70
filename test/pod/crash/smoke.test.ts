import { basename, join } from 'node:path';
import { readFileSync, writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { Host } from '../../../src/pod/index.ts';
import { startSim } from '../../../src/sim/index.ts';
import { FaultyFiles, spoiled } from '../../store/faulty-files.ts';
import { scratch } from '../stage.ts';
import { watched } from './boundaries.ts';
import type { Known } from './ledger.ts';
import { live } from './life.ts';
import { agentsIn, Gates, script } from './world.ts';
it('lives', async () => {
  const sim = await startSim({ script });
  const faulty = new FaultyFiles();
  let n = 0;
  const files = watched({ ...spoiled(faulty, {}), list: (path) => faulty.list(path).map((name) => basename(name)) }, () => { n += 1; });
  const gates = new Gates();
  const cwd = scratch();
  const witness = join(cwd, '..', basename(cwd) + '.w');
  writeFileSync(witness, '');
  const start = performance.now();
  const host = await Host.open({ directory: '/data', agents: agentsIn(sim.url, { witness, gate: (x) => gates.wait(x) }), files, onFailure: (e, id) => console.log('FAIL', id, e) });
  const known: Known[] = [];
  try { await live(host, cwd, gates, (k) => known.push(k)); } catch (e) { console.log(e); }
  console.log(performance.now() - start, n);
  console.log(known.map((k) => k.type === 'told' ? `${k.pod} ${k.events.map((e) => `${e.seq} ${e.type}`).join(' ')}` : JSON.stringify(k)).join('\n'));
  console.log(readFileSync(witness, 'utf8'));
  await sim.close();
});
