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

/** Temporary folders and servers that are gone after each test. */
export function stage() {
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
    until: (one: { close(): Promise<void> }): void => {
      undo.push(() => one.close());
    },
  };
}

/** A moment that one side waits for and the other brings about. */
export function moment(): { readonly come: Promise<void>; readonly arrive: () => void } {
  const controller = new AbortController();
  const come = once(controller.signal, 'abort').then(() => {});
  return { come, arrive: () => controller.abort() };
}

export interface Heard {
  readonly status: number;
  readonly pieces: readonly string[];
  /** What broke the body off. */
  readonly error: string | undefined;
}

/** One exchange over a transport, read to its end; the pieces in hexadecimal. */
export async function heard(transport: Transport, request: HttpRequest): Promise<Heard> {
  const response = await transport(request, { signal: new AbortController().signal, onOpen: () => {} });
  const pieces: string[] = [];
  try {
    for await (const piece of response.body) pieces.push(Buffer.from(piece).toString('hex'));
  } catch (thrown) {
    return { status: response.status, pieces, error: String(thrown) };
  }
  return { status: response.status, pieces, error: undefined };
}

/** Every piece as a write of its own, far enough apart that a reader in this process sees them so. */
export async function dribble(
  response: ServerResponse,
  pieces: Iterable<Uint8Array | string>,
): Promise<void> {
  for (const piece of pieces) {
    await new Promise((resolve) => response.write(piece, resolve));
    await setImmediate();
  }
}

/** The files of a folder, by name. */
export async function filesIn(directory: string): Promise<Record<string, string>> {
  const names = (await readdir(directory)).toSorted();
  return Object.fromEntries(
    await Promise.all(names.map(async (name) => [name, await readFile(join(directory, name), 'utf8')])),
  );
}

/** The cassettes of a folder, in order. */
export async function cassettesIn(directory: string): Promise<Cassette[]> {
  return Object.entries(await filesIn(directory)).map(([name, text]) => parseCassette(text, name));
}

/** What was thrown by something that must fail. */
export async function thrownBy(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (thrown) {
    return thrown;
  }
  throw new Error('nothing was thrown');
}
