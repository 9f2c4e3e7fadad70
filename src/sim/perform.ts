import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setImmediate, setTimeout } from 'node:timers/promises';
import type { Step } from './steps.ts';

/** Does the steps on a response and ends it; stops at once, and quietly, when the client is gone. */
export async function perform(
  response: ServerResponse,
  steps: Iterable<Step>,
  signal: AbortSignal,
): Promise<void> {
  // Node reports a write that lost the race with the client's leaving as an error; leaving is not one.
  response.on('error', () => {});
  try {
    for (const step of steps) {
      if (signal.aborted) return;
      await act(response, step, signal);
    }
    response.end();
  } catch (thrown) {
    if (!signal.aborted) throw thrown;
  }
}

/** Resolves when the client leaves. */
export async function gone(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort');
}

async function act(response: ServerResponse, step: Step, signal: AbortSignal): Promise<void> {
  switch (step.do) {
    case 'write':
      return await write(response, step.text, signal);
    case 'write-bytes':
      return await write(response, step.bytes, signal);
    case 'dribble':
      return await dribble(response, step.text, signal);
    case 'wait':
      return await setTimeout(step.ms, undefined, { signal });
    case 'silence':
      return await gone(signal);
    case 'keep-alive':
      return await keepAlive(response, step.text, step.everyMs, signal);
    case 'cut':
      return await cut(response);
  }
}

async function write(
  response: ServerResponse,
  bytes: string | Uint8Array,
  signal: AbortSignal,
): Promise<void> {
  if (!response.write(bytes)) await once(response, 'drain', { signal });
}

/** The turn of the event loop between two bytes lets a reader in this same process see them apart. */
async function dribble(response: ServerResponse, text: string, signal: AbortSignal): Promise<void> {
  for (const byte of Buffer.from(text)) {
    if (signal.aborted) return;
    await new Promise((resolve) => response.write(Uint8Array.of(byte), resolve));
    await setImmediate();
  }
}

async function keepAlive(
  response: ServerResponse,
  text: string,
  everyMs: number,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    await setTimeout(everyMs, undefined, { signal });
    response.write(text);
  }
}

/** Destroying a socket drops what it has not sent yet, and the cut is to come after it. */
async function cut(response: ServerResponse): Promise<void> {
  const { socket } = response;
  if (socket === null) return;
  await new Promise((resolve) => socket.write('', resolve));
  socket.destroy();
}
