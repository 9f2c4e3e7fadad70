import { setImmediate } from 'node:timers/promises';
import { messageOf, systemCodeOf } from '../../base/index.ts';
import type { HttpRequest, HttpResponse, Transport } from '../../wire/index.ts';
import { type Cassette, recordedBody, type RecordedError, type RecordedResponse } from './cassette.ts';
import { claimSlot, type RecordingSlot } from './cassette-folder.ts';
import { redactCassette } from './cassette-secrets.ts';
import { BodyRecorder } from './body-recorder.ts';

export interface RecordOptions {
  /** Created with owner-only access if missing; existing numbering continues. */
  readonly directory: string;
  /**
   * Values to keep out of all files, in addition to those of secret headers and parameters (`authorization`,
   * `?key=`).
   */
  readonly secrets: Iterable<string>;
  /** Epoch milliseconds. */
  readonly now?: () => number;
  /** Replaces the provider in file names; absent: derived from the host. */
  readonly name?: string;
}

/** A transport that records the exchanges it forwards. */
export interface RecordingTransport extends Transport {
  /** Resolves when all exchanges so far have ended and are on disk; rejects if one could not be written. */
  settled(): Promise<void>;
}

/**
 * Forwards every exchange chunk by chunk and writes a cassette when it ends, breaks, or its reader stops. After
 * a failed write, the next exchange is rejected with the reason.
 */
export function recordingTransport(inner: Transport, options: RecordOptions): RecordingTransport {
  const { directory, now = monotonicNow, name } = options;
  const secrets = [...options.secrets];
  const underway = new Set<Promise<void>>();
  let writeFailure: { readonly reason: unknown } | undefined;
  let claims: Promise<unknown> = Promise.resolve();

  /** Claims run one after the other, so that numbers follow the order of the requests. */
  const claim = async (): Promise<RecordingSlot> => {
    const slot = claims.then(() => claimSlot(directory));
    claims = slot.catch(() => {});
    return await slot;
  };

  const track = (work: Promise<unknown>, failed: (reason: unknown) => void): void => {
    const entry: Promise<void> = work.then(() => {}, failed).then(() => void underway.delete(entry));
    underway.add(entry);
  };

  const pass: Transport = async (request, watch) => {
    const slot = await claim();
    const startedAt = now();
    const clock = (): number => Math.max(0, Math.round(now() - startedAt));
    const { recorded, result } = exchange(inner, request, watch, clock);
    const write = async (): Promise<void> => {
      const cassette = buildCassette(request, startedAt, await recorded);
      // Yield to the reader: it must not wait for its last chunks while the recording is redacted.
      await setImmediate();
      await slot.write(redactCassette(cassette, secrets), name);
    };
    track(write(), (reason) => {
      writeFailure ??= { reason };
    });
    return await result;
  };

  const transport: Transport = async (request, watch) => {
    if (writeFailure !== undefined) throw writeFailure.reason;
    const passing = pass(request, watch);
    // The caller handles the failure; here the promise only has to be awaited.
    track(passing, () => {});
    return await passing;
  };

  return Object.assign(transport, {
    async settled(): Promise<void> {
      while (underway.size > 0) await Promise.all(underway);
      if (writeFailure !== undefined) throw writeFailure.reason;
    },
  });
}

interface Exchange {
  /** The response for the caller. */
  readonly result: Promise<HttpResponse>;
  /** The recorded response, after the exchange has ended; never rejects. */
  readonly recorded: Promise<RecordedResponse>;
}

function exchange(
  inner: Transport,
  request: HttpRequest,
  watch: Parameters<Transport>[1],
  clock: () => number,
): Exchange {
  // A second abort signal besides the caller's: a response without a reader is abandoned after a while.
  const abandon = new AbortController();
  const signal = AbortSignal.any([watch.signal, abandon.signal]);
  const explain = (thrown: unknown): RecordedError => recordedError(thrown, clock(), signal.aborted);
  const tape = new BodyRecorder(clock, () => abandon.abort());
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

function buildCassette(request: HttpRequest, startedAt: number, response: RecordedResponse): Cassette {
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

/** Returns epoch milliseconds that never run backwards. */
function monotonicNow(): number {
  return performance.timeOrigin + performance.now();
}
