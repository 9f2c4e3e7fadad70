// Measures one candidate on one answer, alone in its process: node point.mjs <candidate> <wire> <text|tool> <count>
import { cpuPerRun } from '../measure.mjs';
import { answer } from './answers.mjs';
import { CANDIDATES } from './candidates.mjs';

/** The warm-up answer has the shortest measured length for every point, so that all start equally warm. */
const WARM_UP_COUNT = { text: 2000, tool: 500 };

const [candidate, wire, work, count] = process.argv.slice(2);
const { open, check } = await CANDIDATES[candidate].load();
const run = await open(wire);
const measured = answer(wire, work, Number(count));
const warmUp = answer(wire, work, WARM_UP_COUNT[work]);

await check?.(wire, measured);
const cpuUs = await cpuPerRun(
  () => complete(warmUp),
  () => complete(measured),
);
console.log(JSON.stringify({ cpuUs }));
// Some libraries leave timers or sockets open.
process.exit(0);

async function complete(one) {
  const characters = await run(one);
  if (characters !== one.content.length) {
    throw new Error(`${candidate} saw ${characters} of ${one.content.length} characters`);
  }
}
