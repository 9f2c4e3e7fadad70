import {
  isSecretName,
  type JsonObject,
  messageOf,
  PolypodError,
  type Redact,
  redactor,
} from '../base/index.ts';
import { type HttpRequest, type HttpResponse, httpTransport, type Transport } from '../wire/index.ts';
import { type Account, forModel, type OpenSigner, withCurrentKey, withQuery } from './account.ts';
import { type AnswerDecoder, answerDecoder } from './decoder.ts';
import type { Failure, LlmEvent, Trace } from './event.ts';
import { createFailure, httpFailure, networkFailure, originOf } from './failure.ts';
import type { Endpoint, Provider } from './provider.ts';
import type { LlmRequest } from './request.ts';
import { type Deadline, createDeadline, type Timeouts, timeoutsFor } from './timeouts.ts';

/** A provider bound to an account. It sends requests and returns balanced streams of events. */
export interface Llm {
  readonly provider: Provider;
  readonly account: Account;
  /** Makes one attempt. Failures of the provider or the network are events, not exceptions. */
  stream(request: LlmRequest, signal: AbortSignal): AsyncGenerator<LlmEvent>;
  /** The same events in the batches in which they arrived, at a fraction of the cost per event. */
  batches(request: LlmRequest, signal: AbortSignal): AsyncGenerator<readonly LlmEvent[]>;
}

export interface ConnectOptions {
  readonly transport?: Transport;
  readonly timeouts?: Partial<Timeouts>;
  readonly onTrace?: (trace: Trace) => void;
  /** Nothing is sent to the provider, so no key is obtained: for the replay of recorded exchanges. */
  readonly needsNoKey?: boolean;
  /** Generates ids for calls that have none; must differ from request to request. */
  readonly seed?: () => string;
}

export function connect(provider: Provider, account: Account, options: ConnectOptions = {}): Llm {
  const connection: Connection = {
    provider,
    account: options.needsNoKey === true ? withoutSupply(account) : account,
    transport: options.transport ?? httpTransport,
    timeouts: { ...timeoutsFor(provider.name), ...options.timeouts },
    onTrace: options.onTrace ?? (() => {}),
    seed: options.seed ?? randomSeed,
  };
  return {
    provider,
    account,
    batches: (request, signal) => streamRequest(connection, request, signal),
    async *stream(request, signal) {
      for await (const batch of streamRequest(connection, request, signal)) yield* batch;
    },
  };
}

function withoutSupply({ keySupply: _, ...account }: Account): Account {
  return account;
}

interface Connection {
  readonly provider: Provider;
  readonly account: Account;
  readonly transport: Transport;
  readonly timeouts: Timeouts;
  readonly onTrace: (trace: Trace) => void;
  readonly seed: () => string;
}

async function* streamRequest(
  connection: Connection,
  request: LlmRequest,
  signal: AbortSignal,
): AsyncGenerator<readonly LlmEvent[]> {
  const decoder = answerDecoder(connection.provider, connection.seed(), connection.onTrace);
  if (!signal.aborted) yield* attempt(connection, request, signal, decoder);
  if (!decoder.finished) yield decoder.cancel();
}

async function* attempt(
  connection: Connection,
  request: LlmRequest,
  signal: AbortSignal,
  decoder: AnswerDecoder,
): AsyncGenerator<readonly LlmEvent[]> {
  const { provider } = connection;
  const opened = await openAccount(connection, request.model, signal);
  if ('failure' in opened) {
    if (!signal.aborted) yield decoder.fail(opened.failure);
    return;
  }
  const { account } = opened;
  const { url } = endpointOf(provider, request, account);
  const redactText = redactor(secretsOf(opened));
  const deadline = createDeadline(connection.timeouts, signal);
  try {
    const sent = await sendRequest(connection, request, opened, deadline);
    if ('failure' in sent) {
      if (!signal.aborted) yield decoder.fail(redacted(sent.failure, redactText));
      return;
    }
    const { response, sender } = sent;
    const failure = await responseFailure(response, provider);
    if (failure) yield decoder.fail(redacted(redacted(failure, redactText), redactor(secretsOf(sender))));
    else yield* readAnswer(response, decoder, deadline);
  } catch (thrown) {
    if (!signal.aborted && !decoder.finished)
      yield readErrorEvents(thrown, url, deadline, decoder, redactText);
  } finally {
    deadline.close(decoder.finished);
  }
}

/** An account with its current key or credentials. */
interface OpenAccount {
  readonly account: Account;
  readonly signer?: OpenSigner | undefined;
}

/** The account with its current key or credentials, or why there are none. */
async function openAccount(
  { account, transport }: Connection,
  model: string,
  signal: AbortSignal,
): Promise<OpenAccount | { readonly failure: Failure }> {
  try {
    const current = forModel(await withCurrentKey(account, signal), model);
    const signer = await account.signer?.open({ transport, isRenewal: false }, signal);
    const baseUrl = current.baseUrl.replaceAll('{region}', signer?.region ?? '');
    return { account: { ...current, baseUrl }, signer };
  } catch (thrown) {
    return { failure: keyFailure(thrown) };
  }
}

function keyFailure(thrown: unknown): Failure {
  // A server that issues tokens and cannot be reached says nothing about the credentials.
  const isUnreachable = thrown instanceof PolypodError && thrown.code === 'unreachable';
  return createFailure({ kind: isUnreachable ? 'network' : 'auth', message: messageOf(thrown) });
}

/** Sends the request, and once more with a new key or new credentials if the provider rejects those that can be renewed. */
async function sendRequest(
  { provider, transport }: Connection,
  request: LlmRequest,
  opened: OpenAccount,
  { signal, opened: onOpen }: Deadline,
): Promise<
  { readonly response: HttpResponse; readonly sender: OpenAccount } | { readonly failure: Failure }
> {
  const { account } = opened;
  const { omit, bodyFields } = account;
  const fields = { ...omitFields(provider.lower(request), omit), ...bodyFields };
  const body = withoutHalfPairs(JSON.stringify(fields));
  const send = async ({ account: sender, signer }: OpenAccount): Promise<HttpResponse> => {
    const { url, headers } = endpointOf(provider, request, sender);
    const unsigned: HttpRequest = {
      method: 'POST',
      url: withQuery(url, sender),
      headers: { 'content-type': 'application/json', ...headers, ...sender.headers },
      body,
    };
    return transport(signer === undefined ? unsigned : await signer.sign(unsigned), { signal, onOpen });
  };
  const response = await send(opened);
  if (!isRejected(response, opened)) return { response, sender: opened };
  await bodyText(response);
  let sender: OpenAccount;
  try {
    const { keySupply, apiKey = '' } = account;
    sender = {
      account:
        keySupply === undefined ? account : { ...account, apiKey: await keySupply.renew(apiKey, signal) },
      signer: await account.signer?.open({ transport, isRenewal: true }, signal),
    };
  } catch (thrown) {
    if (signal.aborted) throw thrown;
    return { failure: keyFailure(thrown) };
  }
  return { response: await send(sender), sender };
}

/**
 * Replaces halves of surrogate pairs, which JSON.stringify escapes. Providers reject the whole conversation if any text, such
 * as a web page or the result of a tool, contains one.
 */
function withoutHalfPairs(json: string): string {
  if (!json.includes('\\ud')) return json;
  return json.replace(/\\(?:\\|ud[89a-f][\da-f]{2})/g, (escape) => (escape === '\\\\' ? escape : '\\ufffd'));
}

function endpointOf(provider: Provider, request: LlmRequest, account: Account): Endpoint {
  const { url, headers } = provider.endpoint(request, account);
  const { baseUrl, requestPath } = account;
  return { url: requestPath === undefined ? url : baseUrl + requestPath, headers };
}

/** Whether the provider has rejected a key or credentials that can be renewed. */
function isRejected({ status, headers }: HttpResponse, { account, signer }: OpenAccount): boolean {
  if (account.keySupply !== undefined) return status === 401;
  return (
    signer !== undefined &&
    status === 403 &&
    /^(?:ExpiredToken|UnrecognizedClient|InvalidClientTokenId)/.test(headers['x-amzn-errortype'] ?? '')
  );
}

function secretsOf({ account, signer }: OpenAccount): readonly string[] {
  const { apiKey = '', headers = {}, query = {} } = account;
  const secretParameters = Object.entries(query).filter(([name]) => isSecretName(name));
  return [
    apiKey,
    ...Object.values(headers),
    ...secretParameters.map(([, value]) => value),
    ...(signer?.secrets ?? []),
  ];
}

async function* readAnswer(
  response: HttpResponse,
  decoder: AnswerDecoder,
  deadline: Deadline,
): AsyncGenerator<readonly LlmEvent[]> {
  for await (const bytes of response.body) {
    const before = decoder.answer;
    const events = decoder.push(bytes);
    if (deadline.signal.aborted) return;
    deadline.received(
      decoder.answer,
      before !== decoder.answer || events.some(({ type }) => type !== 'ping'),
    );
    if (events.length > 0) yield events;
    if (decoder.finished || deadline.signal.aborted) return;
  }
  const last = decoder.end();
  if (!deadline.signal.aborted && last.length > 0) yield last;
}

/** The events for an error while reading. After the finish marker the answer still completes. */
function readErrorEvents(
  thrown: unknown,
  url: string,
  deadline: Deadline,
  decoder: AnswerDecoder,
  redactText: Redact,
): readonly LlmEvent[] {
  if (decoder.answer.stop !== undefined) return decoder.end();
  const failure =
    deadline.expired === undefined
      ? networkFailure(thrown, url, decoder.answer.started)
      : createFailure({ kind: 'timeout', message: `${originOf(url)}: ${deadline.expired}` });
  return decoder.fail(redacted(failure, redactText));
}

/** The failure if the response is not a stream: an HTTP error, a redirect, or a web page of some other server. */
async function responseFailure(response: HttpResponse, provider: Provider): Promise<Failure | undefined> {
  const { status, headers } = response;
  if (status >= 400) return httpFailure(status, headers, await bodyText(response));
  if (status >= 300) {
    const message = `redirected to ${headers.location ?? 'an unknown address'}; set the account's base URL to the final address`;
    return createFailure({ kind: 'invalid-request', message, httpStatus: status });
  }
  if (!/html/.test(headers['content-type'] ?? '')) return undefined;
  const { message } = httpFailure(status, headers, await bodyText(response));
  return createFailure({
    kind: 'malformed',
    message: `received a web page instead of an ${provider.name} stream; check the account's base URL (${message})`,
  });
}

const MAX_ERROR_BYTES = 64 * 1024;

async function bodyText({ body }: HttpResponse): Promise<string> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of body) {
    pieces.push(piece);
    length += piece.length;
    if (length > MAX_ERROR_BYTES) break;
  }
  return Buffer.concat(pieces).toString('utf8');
}

function redacted(failure: Failure, redactText: Redact): Failure {
  return { ...failure, message: redactText(failure.message) };
}

function omitFields(body: JsonObject, omit: readonly string[] = []): JsonObject {
  return omit.length === 0
    ? body
    : Object.fromEntries(Object.entries(body).filter(([name]) => !omit.includes(name)));
}

function randomSeed(): string {
  return Math.random().toString(36).slice(2, 10);
}
