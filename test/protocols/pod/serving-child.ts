import { createInterface } from 'node:readline';
import { Host } from '../../../src/pod/index.ts';
import { PodDoor, PodSockets } from '../../../src/protocols/pod/index.ts';
import { plainAgent } from '../../pod/plain-agent.ts';

/** The options of a process that serves one pod. */
export interface ServerOptions {
  readonly directory: string;
  readonly sockets: string;
  readonly cwd: string;
  /** The URL of the simulator. */
  readonly url: string;
  /** An existing pod. */
  readonly podId?: string;
}

/** Its first line of output. */
export interface Ready {
  readonly podId: string;
  readonly path: string;
}

const options: ServerOptions = JSON.parse(process.argv[2] ?? '');
const { directory, sockets: socketDirectory, cwd, url } = options;
// The most permissive umask, so that private files are private because of our code.
process.umask(0);
const host = await Host.open({ directory, agents: async () => plainAgent(url, cwd) });
const pod = options.podId === undefined ? await host.create({ cwd }) : host.pod(options.podId);
const sockets = new PodSockets(new PodDoor(), { directory: socketDirectory });
const path = await sockets.open(pod);
process.stdout.write(`${JSON.stringify({ podId: pod.id, path })}\n`);

// Each line of input requests the live memory, after a full collection.
for await (const _ of createInterface({ input: process.stdin })) {
  for (let round = 0; round < 3; round += 1) {
    globalThis.gc?.();
    await new Promise((resolve) => setImmediate(resolve));
  }
  // Live memory only: the memory of the process includes what the allocator has not returned yet.
  const { heapUsed, external } = process.memoryUsage();
  process.stdout.write(`${heapUsed + external}\n`);
}
await sockets.closeAll();
await host.shutdown();
