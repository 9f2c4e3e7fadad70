// What an idle host does, seen from outside: node idle.mjs <floor|pod>
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { Client } from '../floor/client.mjs';
import { startHost } from '../floor/processes.mjs';
import { promptFor } from '../floor/prompts.mjs';

const SESSIONS = 10;
/** Kept-alive connections end and the collector looks once more. */
const SETTLE_MS = 20_000;
const WINDOW_MS = 40_000;

const [kind] = process.argv.slice(2);
const { path, pid } = await startHost(kind);
for (let made = 0; made < SESSIONS; made += 1) {
  const client = await Client.connect(path, kind);
  const { session } = await client.ask({ do: 'open' });
  await client.prompt(session, promptFor({ count: 100 }));
}
await setTimeout(SETTLE_MS);
const before = threadsOf(pid);
await setTimeout(WINDOW_MS);
const after = threadsOf(pid);
const seconds = WINDOW_MS / 1000;
console.log(
  JSON.stringify({
    cpuMs: (after.cpuNs - before.cpuNs) / 1e6 / seconds,
    wakeUps: (after.switches - before.switches) / seconds,
  }),
);
process.exit(0);

/** Nanoseconds on the CPU, and how often a thread went to sleep by itself, of all threads. */
function threadsOf(process) {
  let cpuNs = 0;
  let switches = 0;
  for (const thread of readdirSync(`/proc/${process}/task`)) {
    const task = `/proc/${process}/task/${thread}`;
    cpuNs += Number(readFileSync(`${task}/schedstat`, 'utf8').split(' ')[0]);
    switches += Number(/^voluntary_ctxt_switches:\s+(\d+)/m.exec(readFileSync(`${task}/status`, 'utf8'))[1]);
  }
  return { cpuNs, switches };
}
