import { setImmediate } from 'node:timers/promises';
import { messageOf, systemCodeOf } from '../base/index.ts';
import type { HttpRequest, HttpResponse, Transport } from '../wire/index.ts';
import {
  type Cassette,
  type Chunk,
  recordedBody,
  type RecordedError,
  type RecordedResponse,
} from './cassette.ts';
import { claimSlot, type Slot } from './cassette-folder.ts';
import { withoutSecrets } from './cassette-secrets.ts';

export interface RecordOptions {
  /** Made, with access for its owner only, if it is not there; its numbering goes on. */
  readonly directory: string;
  /** Values that must not be in any file; those behind telling names (`authorization`, `?key=`) are known anyway. */
  readonly secrets: Iterable<string>;
  /** Epoch milliseconds. */
  readonly now?: () => number;
  /** Stands for the provider in the file names; absent: told by the host. */
  readonly name?: string;
}

/** A transport that writes down what passes through it. */
export interface RecordingTransport extends Transport {
  /** Resolves when all exchanges so far are over and on disk; rejects if one could not be written. */
  settled(): Promise<void>;
}

/**
 * Passes every exchange through, piece by piece as it comes, and leaves a cassette of each: when it ends, breaks, or
 * its reader leaves. Once a cassette could not be written, the next exchange is refused with the reason.
 */
export function recordingTransport(inner: Transport, options: RecordOptions): RecordingTransport {
  const { directory, now = monotonicNow, name } = options;
  const secrets = [...options.secrets];
  const underway = new Set<Promise<void>>();
  let lost: { readonly reason: unknown } | undefined;
  let claims: Promise<unknown> = Promise.resolve();

  const begin = async (): Promise<Slot> => {
    // One after the other: numbers are to be in the order of asking.
    const claim = claims.then(() => claimSlot(directory));
    claims = claim.catch(() => {});
    return await claim;
  };
  const keep = (writing: Promise<void>): void => {
    const entry = writing
      .catch((reason: unknown) => {
        lost ??= { reason };
      })
      .then(() => void underway.delete(entry));
    underway.add(entry);
  };

  const transport: Transport = async (request, watch) => {
    if (lost !== undefined) throw lost.reason;
    const slot = await begin();
    const startedAt = now();
    const clock = (): number => Math.max(0, Math.round(now() - startedAt));
    const write = async (response: RecordedResponse): Promise<void> => {
      // The reader goes first: it is not to wait for its last pieces while ours are redacted.
      await setImmediate();
      await slot.write(withoutSecrets(cassetteOf(request, startedAt, response), secrets), name);
    };
    // Beside the caller's wish there is one of ours: the rest of an answer nobody reads is given up after a while.
    const enough = new AbortController();
    const signal = AbortSignal.any([watch.signal, enough.signal]);
    const errorOf = (thrown: unknown): RecordedError => recordedError(thrown, clock(), signal.aborted);

    let response: HttpResponse;
    try {
      response = await inner(request, { signal, onOpen: watch.onOpen });
    } catch (thrown) {
      keep(write({ error: errorOf(thrown) }));
      throw thrown;
    }
    const { status, headers } = response;
    const tape = new Tape(response.body, clock, () => enough.abort());
    const ended = tape.run().then(
      () => write({ status, headers, chunks: tape.chunks }),
      (thrown: unknown) => write({ status, headers, chunks: tape.chunks, error: errorOf(thrown) }),
    );
    keep(ended);
    return { status, headers, body: tape };
  };

  return Object.assign(transport, {
    async settled(): Promise<void> {
      await Promise.all(underway);
      if (lost !== undefined) throw lost.reason;
    },
  });
}

/**
 * Takes a body in as fast as it comes and lets its reader follow: what is recorded, and with which times, then depends
 * neither on how fast that reader is nor on whether it reads to the end. A decoder that has seen the finish does not.
 */
class Tape implements AsyncIterable<Uint8Array> {
  readonly chunks: Chunk[] = [];
  readonly #body: AsyncIterable<Uint8Array>;
  readonly #clock: () => number;
  readonly #giveUp: () => void;
  #ending: { readonly thrown?: unknown } | undefined;
  #leaving: NodeJS.Timeout | undefined;
  #wake: (() => void) | undefined;

  constructor(body: AsyncIterable<Uint8Array>, clock: () => number, giveUp: () => void) {
    this.#body = body;
    this.#clock = clock;
    this.#giveUp = giveUp;
  }

  async run(): Promise<void> {
    try {
      // The copy keeps what came, whatever the transport does with its buffer afterwards.
      for await (const bytes of this.#body) this.#add(new Uint8Array(bytes));
      this.#end({});
    } catch (thrown) {
      this.#end({ thrown });
      throw thrown;
    } finally {
      clearTimeout(this.#leaving);
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    try {
      for (let next = 0; ; ) {
        const chunk = this.chunks[next];
        if (chunk !== undefined) {
          next += 1;
          yield chunk.bytes;
          continue;
        }
        if (this.#ending !== undefined) {
          if ('thrown' in this.#ending) throw this.#ending.thrown;
          return;
        }
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    } finally {
      if (this.#ending === undefined) this.#leaving = setTimeout(this.#giveUp, TAIL_MS);
    }
  }

  #add(bytes: Uint8Array): void {
    this.chunks.push({ atMs: this.#clock(), bytes });
    this.#wake?.();
  }

  #end(ending: { readonly thrown?: unknown }): void {
    this.#ending = ending;
    this.#wake?.();
  }
}

/** How long the tail of an answer that nobody reads any more may take, so that it is in the recording. */
const TAIL_MS = 1000;

function cassetteOf(request: HttpRequest, startedAt: number, response: RecordedResponse): Cassette {
  const { method, url, headers, body } = request;
  return {
    recordedAt: new Date(startedAt).toISOString(),
    request: { method, url, headers, ...(body === undefined ? {} : { body: recordedBody(body) }) },
    response,
  };
}

function recordedError(thrown: unknown, atMs: number, stopped: boolean): RecordedError {
  if (stopped) return { kind: 'stopped', atMs, message: 'the recording ends here: its reader stopped' };
  const code = systemCodeOf(thrown);
  return { kind: 'broken', atMs, message: messageOf(thrown), ...(code === undefined ? {} : { code }) };
}

/** Epoch milliseconds that no correction of the clock turns back. */
function monotonicNow(): number {
  return performance.timeOrigin + performance.now();
}
