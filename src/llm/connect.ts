import { type JsonObject, type Redact, redactor } from '../base/index.ts';
import { type HttpResponse, httpTransport, type Transport } from '../wire/index.ts';
import type { Account } from './account.ts';
import { type AnswerDecoder, answerDecoder } from './decoder.ts';
import type { Failure, LlmEvent, Trace } from './event.ts';
import { failureFrom, httpFailure, networkFailure, originOf } from './failure.ts';
import type { Provider } from './provider.ts';
import type { LlmRequest } from './request.ts';
import { type Deadline, deadline, type Timeouts, timeoutsFor } from './timeouts.ts';

/** A provider bound to an account: one request in, one balanced stream of events out. */
export interface Llm {
  readonly provider: Provider;
  readonly account: Account;
  /** One attempt. Never throws for what the provider or the network did: failure is an event. */
  stream(request: LlmRequest, signal: AbortSignal): AsyncGenerator<LlmEvent>;
  /** The same events in the batches they arrived in; a fraction of the cost per event. */
  batches(request: LlmRequest, signal: AbortSignal): AsyncGenerator<readonly LlmEvent[]>;
}

export interface ConnectOptions {
  readonly transport?: Transport;
  readonly timeouts?: Partial<Timeouts>;
  readonly onTrace?: (trace: Trace) => void;
  /** Makes ids for calls that come without one; they have to differ from request to request. */
  readonly seed?: () => string;
}

export function connect(provider: Provider, account: Account, options: ConnectOptions = {}): Llm {
  const link: Link = {
    provider,
    account,
    transport: options.transport ?? httpTransport,
    timeouts: { ...timeoutsFor(provider.name), ...options.timeouts },
    onTrace: options.onTrace ?? (() => {}),
    seed: options.seed ?? randomSeed,
  };
  return {
    provider,
    account,
    batches: (request, signal) => exchange(link, request, signal),
    async *stream(request, signal) {
      for await (const batch of exchange(link, request, signal)) yield* batch;
    },
  };
}

interface Link {
  readonly provider: Provider;
  readonly account: Account;
  readonly transport: Transport;
  readonly timeouts: Timeouts;
  readonly onTrace: (trace: Trace) => void;
  readonly seed: () => string;
}

async function* exchange(
  link: Link,
  request: LlmRequest,
  signal: AbortSignal,
): AsyncGenerator<readonly LlmEvent[]> {
  const decoder = answerDecoder(link.provider, link.seed(), link.onTrace);
  if (!signal.aborted) yield* attempt(link, request, signal, decoder);
  if (!decoder.finished) yield decoder.cancel();
}

async function* attempt(
  link: Link,
  request: LlmRequest,
  signal: AbortSignal,
  decoder: AnswerDecoder,
): AsyncGenerator<readonly LlmEvent[]> {
  const { provider, account } = link;
  const { url, headers } = provider.endpoint(request, account);
  const clean = redactor([account.apiKey ?? '', ...Object.values(account.headers ?? {})]);
  const watch = deadline(link.timeouts, signal);
  try {
    const response = await link.transport(
      {
        method: 'POST',
        url,
        headers: { 'content-type': 'application/json', ...headers, ...account.headers },
        body: JSON.stringify(without(provider.lower(request), account.omit)),
      },
      { signal: watch.signal, onOpen: watch.opened },
    );
    const refusal = await refusalIn(response, provider);
    if (refusal) yield decoder.fail(redacted(refusal, clean));
    else yield* answer(response, decoder, watch);
  } catch (thrown) {
    if (!signal.aborted && !decoder.finished) yield broken(thrown, url, watch, decoder, clean);
  } finally {
    watch.close(decoder.finished);
  }
}

async function* answer(
  response: HttpResponse,
  decoder: AnswerDecoder,
  watch: Deadline,
): AsyncGenerator<readonly LlmEvent[]> {
  for await (const bytes of response.body) {
    const before = decoder.answer;
    const events = decoder.push(bytes);
    if (watch.signal.aborted) return;
    watch.heard(decoder.answer, before !== decoder.answer || events.some(({ type }) => type !== 'ping'));
    if (events.length > 0) yield events;
    if (decoder.finished || watch.signal.aborted) return;
  }
  const last = decoder.end();
  if (!watch.signal.aborted && last.length > 0) yield last;
}

/** Reading stopped with an error: after the finish marker that changes nothing any more. */
function broken(
  thrown: unknown,
  url: string,
  watch: Deadline,
  decoder: AnswerDecoder,
  clean: Redact,
): readonly LlmEvent[] {
  if (decoder.answer.stop !== undefined) return decoder.end();
  const failure =
    watch.expired === undefined
      ? networkFailure(thrown, url, decoder.answer.started)
      : failureFrom({ kind: 'timeout', message: `${originOf(url)}: ${watch.expired}` });
  return decoder.fail(redacted(failure, clean));
}

/** Anything but a stream: an HTTP error, a redirect, or a page from something that is not the provider. */
async function refusalIn(response: HttpResponse, provider: Provider): Promise<Failure | undefined> {
  const { status, headers } = response;
  if (status >= 400) return httpFailure(status, headers, await textOfBody(response));
  if (status >= 300) {
    const message = `redirected to ${headers.location ?? 'nowhere'}; set the account's base URL to the final address`;
    return failureFrom({ kind: 'invalid-request', message, httpStatus: status });
  }
  if (!/html/.test(headers['content-type'] ?? '')) return undefined;
  const { message } = httpFailure(status, headers, await textOfBody(response));
  return failureFrom({
    kind: 'malformed',
    message: `a web page came instead of an ${provider.name} stream; check the account's base URL (${message})`,
  });
}

const MAX_ERROR_BYTES = 64 * 1024;

async function textOfBody({ body }: HttpResponse): Promise<string> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of body) {
    pieces.push(piece);
    length += piece.length;
    if (length > MAX_ERROR_BYTES) break;
  }
  return Buffer.concat(pieces).toString('utf8');
}

function redacted(failure: Failure, clean: Redact): Failure {
  return { ...failure, message: clean(failure.message) };
}

function without(body: JsonObject, omit: readonly string[] = []): JsonObject {
  return omit.length === 0
    ? body
    : Object.fromEntries(Object.entries(body).filter(([name]) => !omit.includes(name)));
}

function randomSeed(): string {
  return Math.random().toString(36).slice(2, 10);
}
