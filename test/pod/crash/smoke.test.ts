import { basename, join } from 'node:path';
import { writeFileSync } from 'node:fs';
import { it } from 'vitest';
import { Host } from '../../../src/pod/index.ts';
import { startSim } from '../../../src/sim/index.ts';
import { FaultyFiles } from '../../store/faulty-files.ts';
import { scratch } from '../stage.ts';
import { live } from './life.ts';
import { agentsIn, Gates, script } from './world.ts';
import { Machine, DATA, filesOf } from './power-cut.ts';
import { problemsAfter } from './problems.ts';
it('lives', async () => {
  const sim = await startSim({ script });
  const gates = new Gates();
  const cwd = scratch();
  const witness = join(scratch(), 'w');
  writeFileSync(witness, '');
  const step = Number(process.env.STEP ?? 37);
  const sv = JSON.parse(process.env.SV ?? '{"torn":1,"zeros":false,"names":true}');
  const machine = new Machine({ disk: new FaultyFiles(), directories: new Set(['/data']), knowledge: [] }, witness, (n) => n % step === Number(process.env.AT ?? 0) ? { session: sv, rest: sv } : undefined);
  const host = await Host.open({ directory: DATA, agents: agentsIn(sim.url, { witness, gate: (x) => gates.wait(x) }), files: machine.files, onFailure: (e, id) => console.log('FAIL', id, e) });
  await live(host, cwd, gates, (k) => machine.knowledge.push(k));
  const images = [...machine.images];
  console.log(images.length, machine.boundaries);
  for (const [at, image] of images.entries()) {
    const w = join(scratch(), 'w'); writeFileSync(w, image.witness);
    const t = performance.now();
    const files = filesOf(image.disk, new Set(image.directories));
    let again;
    try {
    again = await Host.open({ directory: DATA, agents: agentsIn(sim.url, { witness: w, gate: async () => {} }), files, onFailure: (e, id) => console.log('FAIL', id, e) });
    const problems = await problemsAfter({ host: again, files, directory: DATA, cwd, witness: w, isLossy: sv.torn !== 1 || !sv.names }, image.knowledge);
    console.log('boundary', at * step + Number(process.env.AT ?? 0), Math.round(performance.now() - t), JSON.stringify(image.knowledge.at(-1)).slice(0, 100), problems.map((p) => '\n   ' + p.slice(0, 1500)).join(''));
    } catch (e) { console.log('THROWN', e); }
    await again?.shutdown();
  }
  await sim.close();
}, 600_000);
