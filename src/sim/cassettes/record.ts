import { setImmediate } from 'node:timers/promises';
import { messageOf, systemCodeOf } from '../../base/index.ts';
import type { HttpRequest, HttpResponse, Transport } from '../../wire/index.ts';
import { type Cassette, recordedBody, type RecordedError, type RecordedResponse } from './cassette.ts';
import { claimSlot, type Slot } from './cassette-folder.ts';
import { withoutSecrets } from './cassette-secrets.ts';
import { Tape } from './tape.ts';

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

  /** One after the other: numbers are to be in the order of asking. */
  const claim = async (): Promise<Slot> => {
    const slot = claims.then(() => claimSlot(directory));
    claims = slot.catch(() => {});
    return await slot;
  };

  const keep = (work: Promise<unknown>, failed: (reason: unknown) => void): void => {
    const entry: Promise<void> = work.then(() => {}, failed).then(() => void underway.delete(entry));
    underway.add(entry);
  };

  const pass: Transport = async (request, watch) => {
    const slot = await claim();
    const startedAt = now();
    const clock = (): number => Math.max(0, Math.round(now() - startedAt));
    const { recorded, result } = exchange(inner, request, watch, clock);
    const write = async (): Promise<void> => {
      const cassette = cassetteOf(request, startedAt, await recorded);
      // The reader goes first: it is not to wait for its last pieces while ours are redacted.
      await setImmediate();
      await slot.write(withoutSecrets(cassette, secrets), name);
    };
    keep(write(), (reason) => {
      lost ??= { reason };
    });
    return await result;
  };

  const transport: Transport = async (request, watch) => {
    if (lost !== undefined) throw lost.reason;
    const passing = pass(request, watch);
    // Its failure is the caller's; here it only counts as something to wait for.
    keep(passing, () => {});
    return await passing;
  };

  return Object.assign(transport, {
    async settled(): Promise<void> {
      while (underway.size > 0) await Promise.all(underway);
      if (lost !== undefined) throw lost.reason;
    },
  });
}

interface Exchange {
  /** What the caller gets. */
  readonly result: Promise<HttpResponse>;
  /** What goes into the cassette, once all is over; never rejects. */
  readonly recorded: Promise<RecordedResponse>;
}

function exchange(
  inner: Transport,
  request: HttpRequest,
  watch: Parameters<Transport>[1],
  clock: () => number,
): Exchange {
  // Beside the caller's wish to stop there is one of ours: an answer without a reader is given up after a while.
  const enough = new AbortController();
  const signal = AbortSignal.any([watch.signal, enough.signal]);
  const explain = (thrown: unknown): RecordedError => recordedError(thrown, clock(), signal.aborted);
  const tape = new Tape(clock, () => enough.abort());
  const answer = inner(request, { signal, onOpen: watch.onOpen });
  return {
    result: answer.then(({ status, headers }) => ({ status, headers, body: tape })),
    recorded: answer.then(
      async ({ status, headers, body }) => {
        const error = await tape.run(body, explain);
        return { status, headers, chunks: tape.chunks, ...(error === undefined ? {} : { error }) };
      },
      (thrown: unknown) => ({ error: explain(thrown) }),
    ),
  };
}

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
