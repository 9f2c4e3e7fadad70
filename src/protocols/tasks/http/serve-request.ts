import type { IncomingMessage, ServerResponse } from 'node:http';
import { asPolypodError, type Log, type PolypodError, redactor } from '../../../base/index.ts';
import {
  CHALLENGE_HEADER,
  decodeChallenge,
  findRoute,
  type GuardOptions,
  guardRequest,
  type HttpExchange,
  httpRefusal,
  isLoopback,
  PROOF_HEADER,
  computeProof,
  readJsonBody,
  refuseDuplicates,
  type RequestTarget,
} from '../../../wire/index.ts';
import {
  type Authenticator,
  offersKey,
  refuseKeyInAddress,
  requirePermission,
  tooManyFailedAttempts,
} from './authenticator.ts';
import { type WireError, wireError } from '../errors.ts';
import type { KeyRecord } from '../keys/key.ts';
import type { AddressLimits } from './address-limits.ts';
import type { RequestAudit, RequestNote } from './request-audit.ts';
import type { TasksContext, Reply, ReplyHead, Route } from './route.ts';

/** What every request uses before and after its handler. */
export interface RequestContext {
  readonly routes: readonly Route[];
  readonly guard: GuardOptions;
  readonly authenticator: Authenticator;
  readonly refusals: AddressLimits;
  /** The address of the client. */
  readonly remoteOf: (request: IncomingMessage) => string;
  readonly context: TasksContext;
  readonly audit: RequestAudit | undefined;
  readonly log: Log;
  /** Reports an unexpected error that has ended a connection. */
  readonly caught: (thrown: unknown) => void;
}

/** Handles one request, including its errors. */
export async function serveRequest(exchange: HttpExchange, requestContext: RequestContext): Promise<void> {
  const { request, response, requestId, clientRequestId, url } = exchange;
  const remote = requestContext.remoteOf(request);
  let head: ReplyHead = [...EVERY_REPLY, 'x-request-id', requestId, ...proofFor(request, requestContext)];
  const ticket = request.method === 'GET' ? (url?.searchParams.get('ticket') ?? undefined) : undefined;
  const wait = requestContext.refusals.wait(remote);
  if (wait > 0 && requestContext.authenticator.find(request.headers, ticket) === undefined) {
    requestContext.refusals.drop(remote);
    requestContext.context.refused.add('rate_limited');
    sendError(response, wireError(tooManyFailedAttempts(wait), requestId), [...head, 'connection', 'close']);
    return;
  }
  const began = performance.now();
  const action = clean(`${request.method} ${url?.pathname ?? request.url}`);
  let key: KeyRecord | undefined;
  const note = (more: Pick<RequestNote, 'policyResult' | 'target' | 'result'>): void => {
    const [actor, keyId] = [key?.owner, key?.id];
    requestContext.audit?.write({ requestId, clientRequestId, remote, actor, keyId, action, ...more });
  };
  try {
    if (url === undefined) throw noPath();
    refuseDuplicates(request.rawHeaders);
    const origin = guardRequest(request.headers, requestContext.guard);
    if (origin !== undefined) head = [...head, ...OPEN_TO_PAGES, 'access-control-allow-origin', origin];
    if (request.method === 'OPTIONS' && origin !== undefined) {
      requestContext.refusals.count(remote);
      response.writeHead(204, [...head]).end();
      return;
    }
    if (isOpenHealth(exchange, url, requestContext)) {
      requestContext.refusals.count(remote);
      send(response, { json: { status: 'ok' } }, head);
      return;
    }
    key = requestContext.authenticator.enter(request.headers, remote, ticket);
    exchange.trust(key.id);
    requestContext.authenticator.charge(key);
    refuseKeyInAddress(url);
    const { route, params } = findRoute(requestContext.routes, request.method ?? '', url.pathname);
    const [id = ''] = params.values();
    if (ticket !== undefined) requestContext.authenticator.spend(ticket, { path: route.path, id });
    requirePermission(key, route.scope);
    const { headers } = request;
    if (route.body !== undefined && headers.expect !== undefined) response.writeContinue();
    const body =
      route.body === undefined ? {} : await readJsonBody(request, requestContext.context.limits.body);
    const isHead = request.method === 'HEAD';
    const call = { key, params, query: url.searchParams, headers, body, response, head, isHead };
    const reply = await route.answer(call, requestContext.context);
    send(response, reply, head);
    if (request.method === 'POST')
      note({ policyResult: 'allowed', ...('json' in reply ? { ...reply.audit } : {}) });
  } catch (thrown) {
    const error = asPolypodError(thrown);
    const refusal = wireError(error, requestId);
    const { status, code: word } = refusal;
    requestContext.context.refused.add(word);
    if (status >= 500)
      requestContext.log.error('a request failed', {
        requestId,
        action,
        message: error.message,
        cause: String(error.cause),
      });
    if (key === undefined) requestContext.refusals.count(remote);
    if (status === 429) requestContext.refusals.drop(remote, key?.id);
    else note({ policyResult: word });
    if (response.headersSent) response.destroy();
    else sendError(response, refusal, isBodyLeft(request) ? [...head, 'connection', 'close'] : head);
  } finally {
    const ms = Math.round(performance.now() - began);
    requestContext.log.debug('request', {
      requestId,
      action,
      status: response.statusCode,
      ms,
      keyId: key?.id,
    });
  }
}

/** Proves to a client that sends a challenge that this is the agent of its key. */
function proofFor({ headers, socket }: IncomingMessage, { authenticator }: RequestContext): ReplyHead {
  const text = headers[CHALLENGE_HEADER];
  const challenge = typeof text === 'string' ? decodeChallenge(text) : undefined;
  const hash = challenge && authenticator.hashOf(challenge.keyId);
  if (challenge === undefined || hash === undefined || socket.localPort === undefined) return [];
  return [PROOF_HEADER, computeProof(challenge, hash, socket.localPort)];
}

/** `GET /health` needs no key on this machine, and then returns only that the agent is up. */
function isOpenHealth(
  { request }: HttpExchange,
  { pathname }: RequestTarget,
  { remoteOf }: RequestContext,
): boolean {
  return (
    pathname === '/health' &&
    (request.method === 'GET' || request.method === 'HEAD') &&
    !offersKey(request.headers) &&
    isLoopback(request.socket.remoteAddress ?? '') &&
    isLoopback(remoteOf(request))
  );
}

/** Whether the rest of the body is too large to wait for. */
function isBodyLeft({ complete, headers }: IncomingMessage): boolean {
  if (complete) return false;
  const isUnbounded = headers['transfer-encoding'] !== undefined || headers.expect !== undefined;
  return isUnbounded || Number(headers['content-length'] ?? 0) > LARGE_BODY;
}

/** The request target is a complete URL or `*`, or contains characters that are invalid in a path. */
export function noPath(): PolypodError {
  return httpRefusal(400, 'malformed_request', 'the target of the request must be a path, such as /tasks');
}

/** Redacts keys that a client put into a path by mistake. */
export const clean = redactor([]);

function sendError(response: ServerResponse, { status, body, headers }: WireError, head: ReplyHead): void {
  const all = [...head, ...Object.entries(headers ?? {}).flat()];
  sendText(response, status, all, JSON_TYPE, JSON.stringify(body));
}

function send(response: ServerResponse, reply: Reply, head: ReplyHead): void {
  if ('json' in reply) sendText(response, reply.status ?? 200, head, JSON_TYPE, JSON.stringify(reply.json));
  else if ('text' in reply) sendText(response, 200, head, reply.type, reply.text);
  else if ('nothing' in reply) response.writeHead(204, [...head]).end();
}

/** A string instead of bytes: Node.js sends it in one write with the headers. */
function sendText(
  response: ServerResponse,
  status: number,
  head: ReplyHead,
  type: string,
  text: string,
): void {
  const size = Buffer.byteLength(text);
  response.writeHead(status, [...head, 'content-type', type, 'content-length', String(size)]);
  response.end(text);
}

const LARGE_BODY = 64 * 1024;

const JSON_TYPE = 'application/json; charset=utf-8';

const EVERY_REPLY: ReplyHead = ['x-content-type-options', 'nosniff', 'cache-control', 'no-store'];

const OPEN_TO_PAGES: ReplyHead = [
  'access-control-allow-methods',
  'GET, HEAD, POST',
  'access-control-allow-headers',
  'Authorization, X-API-Key, Content-Type, Idempotency-Key, Last-Event-ID, X-Request-Id',
  'access-control-max-age',
  '600',
  'vary',
  'Origin',
];
