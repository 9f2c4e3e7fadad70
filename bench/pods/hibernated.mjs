// Memory of pods that had a run and left: node --expose-gc hibernated.mjs <pods>
import { setTimeout } from 'node:timers/promises';
import { realFiles } from '../../dist/store/index.js';
import { openHost, say } from '../floor/pods.mjs';
import { scratch, startProvider } from '../floor/processes.mjs';
import { promptFor } from '../floor/prompts.mjs';

const TOGETHER = 100;
const SETTLE_MS = 6_000;

const count = Number(process.argv[2]);
const directory = scratch();
const host = await openHost(await startProvider(), directory, { files: unsynced() });
// What the first ones load and compile is not theirs.
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
  await pod.handle(say(promptFor({ count: 2 })));
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

/** After a while: what was let go of last is in the hands of timers and finalizers, which one collection only sets free. */
async function held() {
  globalThis.gc();
  await setTimeout(SETTLE_MS);
  globalThis.gc();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** What the disk has of the pods does not matter here, and waiting for it would take most of the time. */
function unsynced() {
  const open = (name) => (path) => ({ ...realFiles[name](path), sync: async () => {} });
  const opening = Object.fromEntries(
    ['create', 'openToAppend', 'openToUpdate'].map((name) => [name, open(name)]),
  );
  return { ...realFiles, ...opening, syncDirectory: async () => {} };
}
