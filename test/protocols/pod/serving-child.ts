import { createInterface } from 'node:readline';
import { Host } from '../../../src/pod/index.ts';
import { PodDoor, PodSockets } from '../../../src/protocols/pod/index.ts';
import { plainAgent } from '../../pod/plain-agent.ts';

/** What a process that serves one pod is given. */
export interface Errand {
  readonly directory: string;
  readonly sockets: string;
  readonly cwd: string;
  /** The simulator's. */
  readonly url: string;
  /** The pod that is there already. */
  readonly podId?: string;
}

/** What it says first. */
export interface Ready {
  readonly podId: string;
  readonly path: string;
}

const errand: Errand = JSON.parse(process.argv[2] ?? '');
const { directory, sockets: socketDirectory, cwd, url } = errand;
// As loose as it can be: what is made private is made so by us.
process.umask(0);
const host = await Host.open({ directory, agents: async () => plainAgent(url, cwd) });
const pod = errand.podId === undefined ? await host.create({ cwd }) : host.pod(errand.podId);
const sockets = new PodSockets(new PodDoor(), { directory: socketDirectory });
const path = await sockets.open(pod);
process.stdout.write(`${JSON.stringify({ podId: pod.id, path })}\n`);

// Each line on its input asks for the live memory, after a full collection.
for await (const _ of createInterface({ input: process.stdin })) {
  for (let round = 0; round < 3; round += 1) {
    globalThis.gc?.();
    await new Promise((resolve) => setImmediate(resolve));
  }
  // What is alive: the memory of the process also counts what the allocator has not given back yet.
  const { heapUsed, external } = process.memoryUsage();
  process.stdout.write(`${heapUsed + external}\n`);
}
await sockets.closeAll();
await host.shutdown();
