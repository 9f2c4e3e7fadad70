import { join } from 'node:path';
import { Client } from '../floor/client.mjs';
import { scratch, start, startProvider } from '../floor/processes.mjs';

const SERVERS = {
  floor: new URL('floor.mjs', import.meta.url),
  synced: new URL('floor.mjs', import.meta.url),
  door: new URL('door.mjs', import.meta.url),
  bare: new URL('bare.mjs', import.meta.url),
};

/**
 * Starts a server in its own process: returns its address, a key, and the connection that reports its CPU time.
 * BENCH_FLAGS are Node.js flags for it, such as --cpu-prof.
 */
export async function startServer(kind) {
  const directory = scratch();
  const path = join(directory, 'control.sock');
  const args = [path, await startProvider(), directory, ...(kind === 'synced' ? [kind] : [])];
  const { output } = await start(SERVERS[kind], args, {
    flags: process.env.BENCH_FLAGS?.split(' ') ?? [],
  });
  return { ...output, control: await Client.connect(path, 'floor') };
}

export function headersFor({ key }) {
  return { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
}

/** Submits a task and resolves with its id. */
export async function submit(server, task, more = {}) {
  const response = await fetch(`${server.url}/submit_task`, {
    method: 'POST',
    headers: { ...headersFor(server), ...more },
    body: JSON.stringify({ taskType: 'complex_task', ...task }),
  });
  const { taskId, status, message } = await response.json();
  if (status !== 'accepted') throw new Error(`not accepted: ${message}`);
  return taskId;
}

export async function untilOver({ url, key }, taskId) {
  for (;;) {
    const response = await fetch(`${url}/tasks/${taskId}/status`, { headers: headersFor({ key }) });
    if ((await response.json()).status === 'completed') return;
  }
}
