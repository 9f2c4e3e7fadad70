import type { IncomingMessage } from 'node:http';
import { asPolypodError, type Log } from '../../base/index.ts';
import {
  findRoute,
  type GuardOptions,
  guardRequest,
  type HttpExchange,
  readJsonBody,
} from '../../wire/index.ts';
import type { AuditEntry, AuditLog } from './audit-log.ts';
import { type Entrance, requireScope } from './entrance.ts';
import { wireError } from './errors.ts';
import type { KeyRecord } from './keys/key.ts';
import type { Desk, Reply, Route } from './route.ts';

/** What every request goes past before, and after, it is answered. */
export interface Counter {
  readonly routes: readonly Route[];
  readonly guard: GuardOptions;
  readonly entrance: Entrance;
  /** The address that a request comes from. */
  readonly remoteOf: (request: IncomingMessage) => string;
  readonly desk: Desk;
  readonly audit: AuditLog | undefined;
  readonly log: Log;
}

/** Answers one request, whatever becomes of it. */
export async function serveRequest(exchange: HttpExchange, counter: Counter): Promise<void> {
  const { request, response, requestId, url } = exchange;
  const began = performance.now();
  const action = `${request.method} ${url.pathname}`;
  const remote = counter.remoteOf(request);
  let key: KeyRecord | undefined;
  response.setHeader('x-request-id', requestId);
  response.setHeader('x-content-type-options', 'nosniff');
  response.setHeader('cache-control', 'no-store');
  const note = (more: Pick<AuditEntry, 'policyResult' | 'target' | 'result' | 'approvedBy'>): void => {
    counter.audit?.write({ requestId, remote, actor: key?.owner, keyId: key?.id, action, ...more });
  };
  try {
    const origin = guardRequest(request.headers, counter.guard);
    if (origin !== undefined) allowOrigin(exchange, origin);
    if (request.method === 'OPTIONS' && origin !== undefined) {
      response.writeHead(204).end();
      return;
    }
    const { route, params } = findRoute(counter.routes, request.method ?? '', url.pathname);
    key = counter.entrance.enter(request.headers, remote);
    requireScope(key, route.scope);
    const body = route.body === undefined ? {} : await readJsonBody(request, counter.desk.limits.body);
    const { headers } = request;
    const call = { key, params, query: url.searchParams, headers, body, response };
    const reply = await route.answer(call, counter.desk);
    send(exchange, reply);
    if (request.method === 'POST')
      note({ policyResult: 'allowed', ...('json' in reply ? { ...reply.audit } : {}) });
  } catch (thrown) {
    const error = asPolypodError(thrown);
    const { status, word, body, headers = {} } = wireError(error, requestId);
    if (status >= 500)
      counter.log.error('a request failed', {
        requestId,
        action,
        message: error.message,
        cause: String(error.cause),
      });
    if (request.method === 'POST' || status === 401 || status === 403) note({ policyResult: word });
    if (response.headersSent) response.destroy();
    else sendJson(exchange, status, body, headers);
  } finally {
    const ms = Math.round(performance.now() - began);
    counter.log.debug('request', { requestId, action, status: response.statusCode, ms, keyId: key?.id });
  }
}

function send(exchange: HttpExchange, reply: Reply): void {
  const { response } = exchange;
  if ('json' in reply) sendJson(exchange, reply.status ?? 200, reply.json, {});
  else if ('text' in reply) response.writeHead(200, { 'content-type': reply.type }).end(reply.text);
  else if ('nothing' in reply) response.writeHead(204).end();
}

function sendJson(
  { response }: HttpExchange,
  status: number,
  body: object,
  headers: Readonly<Record<string, string>>,
): void {
  const bytes = Buffer.from(JSON.stringify(body));
  response.writeHead(status, {
    ...headers,
    'content-type': 'application/json; charset=utf-8',
    'content-length': bytes.length,
  });
  response.end(bytes);
}

function allowOrigin({ response }: HttpExchange, origin: string): void {
  response.setHeader('access-control-allow-origin', origin);
  response.setHeader('access-control-allow-methods', 'GET, POST');
  response.setHeader(
    'access-control-allow-headers',
    'Authorization, X-API-Key, Content-Type, Idempotency-Key, Last-Event-ID, X-Request-Id',
  );
  response.setHeader('vary', 'Origin');
}
