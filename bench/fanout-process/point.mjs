// Measures the CPU per delta and watcher in one process: node point.mjs <floor|pod> <watchers> <watchers that never read>
import { cpuPerRun } from '../floor/measure.mjs';
import { scratch, startProvider } from '../floor/processes.mjs';
import { promptFor } from '../floor/prompts.mjs';
import { openFloor } from './floor.mjs';
import { openPods } from './pods.mjs';

const DELTAS = 5_000;
const OPEN = { floor: openFloor, pod: openPods };

const [kind, watchers, idle] = process.argv.slice(2);
const open = await OPEN[kind](await startProvider(), scratch());
const cpuUs = await cpuPerRun(answer, answer);
console.log(JSON.stringify({ cpuUs: cpuUs / DELTAS / Number(watchers) }));
process.exit(0);

async function answer() {
  const session = await open({ watchers: Number(watchers), idle: Number(idle) });
  const before = process.cpuUsage();
  session.prompt(promptFor({ count: DELTAS }));
  const counts = await Promise.all(session.watching);
  const { user, system } = process.cpuUsage(before);
  const missed = counts.filter((count) => count !== DELTAS);
  if (missed.length > 0)
    throw new Error(`${missed.length} watchers did not get all deltas, one ${missed[0]}`);
  await session.close();
  return user + system;
}
