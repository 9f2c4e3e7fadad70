import { createInterface } from 'node:readline';
import { Host, type Pod, type PodEvent } from '../../../src/pod/index.ts';
import { plainAgent } from '../plain-agent.ts';
import { randomFrom } from './resume-random.ts';
import { keepBusy, logOf, type Received, watchUnreliably } from './resume-watchers.ts';

/** What a process that hosts pods does. */
export interface ChildOptions {
  readonly directory: string;
  readonly cwd: string;
  readonly url: string;
  readonly seed: number;
  /** Existing pods. */
  readonly podIds: readonly string[];
  readonly pods: number;
  readonly prompts: number;
  readonly prompt: string;
  /** One per watcher: its pod, and the last number it saw; without one it starts with a snapshot. */
  readonly watchers: readonly { readonly pod: number; readonly after?: number }[];
}

/** The messages that it prints, one per line. */
export type ChildMessage =
  | { readonly type: 'pods'; readonly podIds: readonly string[] }
  | { readonly type: 'received'; readonly watcher: number; readonly received: Received }
  | { readonly type: 'logs'; readonly logs: readonly (readonly PodEvent[])[]; readonly cuts: number };

// Writes to pipes are synchronous, so what was printed before a kill has arrived.
const print = (what: ChildMessage): void => void process.stdout.write(`${JSON.stringify(what)}\n`);

const options: ChildOptions = JSON.parse(process.argv[2] ?? '');
const { directory, cwd, url, seed, prompts, prompt } = options;
const random = randomFrom(seed);
const host = await Host.open({
  directory,
  agents: async () => plainAgent(url, cwd),
  limits: { watcher: 300 },
});
const pods: Pod[] = options.podIds.map((id) => host.pod(id));
while (pods.length < options.pods) pods.push(await host.create({ cwd }));
print({ type: 'pods', podIds: pods.map(({ id }) => id) });

const stop = new AbortController();
const cuts = { count: 0 };
const watching = options.watchers.map(async ({ pod: at, after }, watcher) => {
  const pod = pods[at];
  if (pod === undefined) throw new Error(`there is no pod ${at}`);
  const own = { random, cuts, signal: stop.signal };
  await watchUnreliably(pod, after, (received) => print({ type: 'received', watcher, received }), own);
});
await Promise.all(pods.map((pod) => keepBusy(pod, prompts, prompt)));
// Until the parent has confirmed that every watcher has everything.
const ends = await Promise.all(pods.map(async (pod) => (await pod.snapshot()).seq));
const logs = await Promise.all(pods.map((pod, at) => logOf(pod, ends[at] ?? 0)));
print({ type: 'logs', logs, cuts: cuts.count });
for await (const _ of createInterface({ input: process.stdin })) break;
stop.abort();
await Promise.all(watching);
await host.shutdown();
process.exit(0);
