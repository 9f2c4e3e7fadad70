import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setImmediate, setTimeout } from 'node:timers/promises';
import type { Step } from './steps.ts';

/** Performs the steps on a response and ends it; returns without an error if the client disconnects. */
export async function performSteps(
  response: ServerResponse,
  steps: Iterable<Step>,
  signal: AbortSignal,
): Promise<void> {
  // Node reports a write that races with a client disconnect as an error; a disconnect is not one.
  response.on('error', () => {});
  try {
    for (const step of steps) {
      if (signal.aborted) return;
      await performStep(response, step, signal);
    }
    response.end();
  } catch (thrown) {
    if (!signal.aborted) throw thrown;
  }
}

/** Resolves when the client disconnects. */
export async function clientGone(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort');
}

async function performStep(response: ServerResponse, step: Step, signal: AbortSignal): Promise<void> {
  switch (step.do) {
    case 'write':
    case 'write-bytes':
      return await write(response, step.bytes, signal);
    case 'dribble':
      return await dribble(response, step.bytes, signal);
    case 'wait':
      return await setTimeout(step.ms, undefined, { signal });
    case 'silence':
      return await clientGone(signal);
    case 'keep-alive':
      return await keepAlive(response, step.bytes, step.everyMs, signal);
    case 'cut':
      return await cut(response);
  }
}

async function write(response: ServerResponse, bytes: Uint8Array, signal: AbortSignal): Promise<void> {
  if (!response.write(bytes)) await once(response, 'drain', { signal });
}

/** Waits one event loop turn between bytes, so that a reader in the same process receives them separately. */
async function dribble(response: ServerResponse, bytes: Uint8Array, signal: AbortSignal): Promise<void> {
  for (const byte of bytes) {
    if (signal.aborted) return;
    await new Promise((resolve) => response.write(Uint8Array.of(byte), resolve));
    await setImmediate();
  }
}

async function keepAlive(
  response: ServerResponse,
  bytes: Uint8Array,
  everyMs: number,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    await setTimeout(everyMs, undefined, { signal });
    response.write(bytes);
  }
}

/** Destroying a socket discards unsent data, so this waits until everything before the cut is flushed. */
async function cut(response: ServerResponse): Promise<void> {
  const { socket } = response;
  if (socket === null) return;
  await new Promise((resolve) => socket.write('', resolve));
  socket.destroy();
}
