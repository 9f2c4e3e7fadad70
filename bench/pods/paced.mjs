// Measures the memory of many pods that stream slowly, each watched in this process: node paced.mjs <pods>
import { openHost, promptCommand } from '../floor/pods.mjs';
import { scratch, startProvider } from '../floor/processes.mjs';
import { promptFor } from '../floor/prompts.mjs';

const DELTAS = 20;
const DELAY_MS = 500;

const count = Number(process.argv[2]);
const directory = scratch();
const host = await openHost(await startProvider(), directory, { limits: { pods: count, runs: count } });
const before = process.memoryUsage.rss();
let highest = 0;
const sampling = setInterval(() => (highest = Math.max(highest, process.memoryUsage.rss())), DELAY_MS);

const pods = [];
for (let made = 0; made < count; made += 1) pods.push(await host.create({ cwd: directory }));
const watching = pods.map(deltasOf);
const spent = process.cpuUsage();
await Promise.all(
  pods.map((pod) => pod.handle(promptCommand(promptFor({ count: DELTAS, batch: 1, delayMs: DELAY_MS })))),
);
const deltas = (await Promise.all(watching)).reduce((sum, seen) => sum + seen, 0);
const { user, system } = process.cpuUsage(spent);
clearInterval(sampling);

const cpuUs = (user + system) / deltas;
console.log(JSON.stringify({ before, rss: highest, deltas, lost: count * DELTAS - deltas, cpuUs }));
process.exit(0);

async function deltasOf(pod) {
  let seen = 0;
  for await (const watched of pod.watch()) {
    if (watched.type === 'snapshot') continue;
    for (const { type } of watched.batch.events) {
      if (type === 'block-delta') seen += 1;
      if (type === 'run-end') return seen;
    }
  }
}
