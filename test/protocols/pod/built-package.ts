import { join, resolve } from 'node:path';
import { onTestFinished } from 'vitest';
import type * as sources from '../../../src/index.ts';
import { type Script, startSim } from '../../../src/sim/index.ts';
import { type AgentOverrides, agentsOn, scratch } from '../../pod/fixture.ts';
import { type Client, ProcessClient, SocketClient } from './fixture.ts';

/** The package as a program imports it: the types are those of the sources, the code is the built one. */
async function builtPackage(): Promise<typeof sources> {
  const path: string = resolve('dist/index.js');
  return (await import(path)) as typeof sources;
}

/** A pod in this process, hosted and served by the built package. */
export async function builtPod(
  script: Script,
  agent: AgentOverrides = {},
): Promise<Readonly<Record<'functions' | 'sockets', () => Promise<Client>>>> {
  const { Host, PodDoor, PodSockets } = await builtPackage();
  const sim = await startSim({ script });
  onTestFinished(() => sim.close());
  const host = await Host.open({ directory: join(scratch(), 'data'), agents: agentsOn(sim, agent) });
  onTestFinished(() => host.shutdown());
  const pod = await host.create({ cwd: scratch(), settings: { name: 'hello-pod' } });
  const door = new PodDoor();
  const sockets = new PodSockets(door, { directory: join(scratch(), 'run') });
  onTestFinished(() => sockets.closeAll());
  const path = await sockets.open(pod);
  return {
    functions: () => ProcessClient.join(door, pod),
    sockets: () => SocketClient.connect(path),
  };
}
