import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { afterEach } from 'vitest';
import type { Cassette } from '../../src/sim/cassettes/cassette.ts';
import { parseCassette } from '../../src/sim/cassettes/cassette-reader.ts';
import type { HttpRequest, Transport } from '../../src/wire/index.ts';

/** Creates temporary folders and servers that are removed after each test. */
export function cassetteFixture() {
  const undo: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const step of undo.splice(0).toReversed()) await step();
  });
  return {
    folder: async (): Promise<string> => {
      const directory = await mkdtemp(join(tmpdir(), 'polypod-cassette-'));
      undo.push(() => rm(directory, { recursive: true }));
      return join(directory, 'tapes');
    },
    serve: async (handle: (incoming: IncomingMessage, response: ServerResponse) => void | Promise<void>) => {
      const server = createServer((incoming, response) => {
        incoming.resume();
        void handle(incoming, response);
      });
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      const address = server.address();
      const close = (): Promise<void> =>
        new Promise((resolve) => {
          server.close(() => resolve());
          server.closeAllConnections();
        });
      undo.push(close);
      return { url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`, close };
    },
    closeAfterTest: (closable: { close(): Promise<void> }): void => {
      undo.push(() => closable.close());
    },
  };
}

/** A deferred signal: one side awaits it, the other triggers it. */
export function deferredSignal(): { readonly triggered: Promise<void>; readonly trigger: () => void } {
  const controller = new AbortController();
  const triggered = once(controller.signal, 'abort').then(() => {});
  return { triggered, trigger: () => controller.abort() };
}

export interface ReceivedExchange {
  readonly status: number;
  readonly pieces: readonly string[];
  /** The error that broke the body. */
  readonly error: string | undefined;
}

/** Performs one exchange over a transport and reads it to the end; chunks in hexadecimal. */
export async function exchange(transport: Transport, request: HttpRequest): Promise<ReceivedExchange> {
  const response = await transport(request, { signal: new AbortController().signal, onOpen: () => {} });
  const pieces: string[] = [];
  try {
    for await (const piece of response.body) pieces.push(Buffer.from(piece).toString('hex'));
  } catch (thrown) {
    return { status: response.status, pieces, error: String(thrown) };
  }
  return { status: response.status, pieces, error: undefined };
}

/**
 * Sends every chunk in a separate write, with enough delay for a reader in this process to receive them
 * separately.
 */
export async function dribble(
  response: ServerResponse,
  pieces: Iterable<Uint8Array | string>,
): Promise<void> {
  for (const piece of pieces) {
    await new Promise((resolve) => response.write(piece, resolve));
    await setImmediate();
  }
}

/** Returns the files of a folder by name. */
export async function filesIn(directory: string): Promise<Record<string, string>> {
  const names = (await readdir(directory)).toSorted();
  return Object.fromEntries(
    await Promise.all(names.map(async (name) => [name, await readFile(join(directory, name), 'utf8')])),
  );
}

/** Returns the cassettes of a folder, in order. */
export async function cassettesIn(directory: string): Promise<Cassette[]> {
  return Object.entries(await filesIn(directory)).map(([name, text]) => parseCassette(text, name));
}

/** Returns what a promise rejects with. */
export async function thrownBy(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (thrown) {
    return thrown;
  }
  throw new Error('nothing was thrown');
}
