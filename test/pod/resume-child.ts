import { createInterface } from 'node:readline';
import { Host, type Pod, type PodEvent } from '../../src/pod/index.ts';
import { plainAgent } from './plain-agent.ts';
import { randomFrom } from './resume-random.ts';
import { keepBusy, logOf, type Told, watchBadly } from './resume-watchers.ts';

/** What a process that hosts pods does. */
export interface Errand {
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
export type Said =
  | { readonly type: 'pods'; readonly podIds: readonly string[] }
  | { readonly type: 'told'; readonly watcher: number; readonly told: Told }
  | { readonly type: 'logs'; readonly logs: readonly (readonly PodEvent[])[]; readonly cuts: number };

// Writes to pipes are synchronous, so what was printed before a kill has arrived.
const said = (what: Said): void => void process.stdout.write(`${JSON.stringify(what)}\n`);

const errand: Errand = JSON.parse(process.argv[2] ?? '');
const { directory, cwd, url, seed, prompts, prompt } = errand;
const random = randomFrom(seed);
const host = await Host.open({
  directory,
  agents: async () => plainAgent(url, cwd),
  limits: { watcher: 300 },
});
const pods: Pod[] = errand.podIds.map((id) => host.pod(id));
while (pods.length < errand.pods) pods.push(await host.create({ cwd }));
said({ type: 'pods', podIds: pods.map(({ id }) => id) });

const stop = new AbortController();
const cuts = { count: 0 };
const watching = errand.watchers.map(async ({ pod: at, after }, watcher) => {
  const pod = pods[at];
  if (pod === undefined) throw new Error(`there is no pod ${at}`);
  const own = { random, cuts, signal: stop.signal };
  await watchBadly(pod, after, (told) => said({ type: 'told', watcher, told }), own);
});
await Promise.all(pods.map((pod) => keepBusy(pod, prompts, prompt)));
// Until the parent has confirmed that every watcher has everything.
const ends = await Promise.all(pods.map(async (pod) => (await pod.snapshot()).seq));
const logs = await Promise.all(pods.map((pod, at) => logOf(pod, ends[at] ?? 0)));
said({ type: 'logs', logs, cuts: cuts.count });
for await (const _ of createInterface({ input: process.stdin })) break;
stop.abort();
await Promise.all(watching);
await host.shutdown();
process.exit(0);
