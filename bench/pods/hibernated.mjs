// Measures the memory of pods that had a run and were unloaded: node --expose-gc hibernated.mjs <pods>
import { setTimeout } from 'node:timers/promises';
import { realFiles } from '../../dist/store/index.js';
import { openHost, promptCommand } from '../floor/pods.mjs';
import { scratch, startProvider } from '../floor/processes.mjs';
import { promptFor } from '../floor/prompts.mjs';

const TOGETHER = 100;
const SETTLE_MS = 6_000;

const count = Number(process.argv[2]);
const directory = scratch();
const host = await openHost(await startProvider(), directory, { files: unsynced() });
// The first pods load and compile code that is not counted.
await sleepers(TOGETHER);
const before = await held();
for (let made = 0; made < count; made += TOGETHER) await sleepers(TOGETHER);
const { pods, sessions } = host.usage;
if (pods > 0 || sessions < count) throw new Error(`${pods} pods are awake and ${sessions} are known`);
console.log(JSON.stringify({ held: ((await held()) - before) / count, rss: process.memoryUsage.rss() }));
process.exit(0);

async function sleepers(number) {
  await Promise.all(Array.from({ length: number }, sleeper));
}

async function sleeper() {
  const pod = await host.create({ cwd: directory, lazy: true });
  await pod.handle(promptCommand(promptFor({ count: 2 })));
  await quiet(pod);
  await host.close(pod.id);
}

async function quiet(pod) {
  for await (const watched of pod.watch()) {
    if (watched.type === 'snapshot' ? watched.snapshot.state === 'idle' : watched.batch.events.some(isRunEnd))
      return;
  }
}

function isRunEnd({ type }) {
  return type === 'run-end';
}

/** After a delay: timers and finalizers still reference the last released objects, so one collection is not enough. */
async function held() {
  globalThis.gc();
  await setTimeout(SETTLE_MS);
  globalThis.gc();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** Durability does not matter here, and syncing would take most of the time. */
function unsynced() {
  const open = (name) => (path) => ({ ...realFiles[name](path), sync: async () => {} });
  const opening = Object.fromEntries(
    ['create', 'openToAppend', 'openToUpdate'].map((name) => [name, open(name)]),
  );
  return { ...realFiles, ...opening, syncDirectory: async () => {} };
}
