import type { IncomingMessage, ServerResponse } from 'node:http';
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
import type { Desk, Reply, ReplyHead, Route } from './route.ts';

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
  /** Reports an unexpected error that has ended a connection. */
  readonly caught: (thrown: unknown) => void;
}

/** Answers one request, whatever becomes of it. */
export async function serveRequest(exchange: HttpExchange, counter: Counter): Promise<void> {
  const { request, response, requestId, url } = exchange;
  const began = performance.now();
  const action = `${request.method} ${url.pathname}`;
  const remote = counter.remoteOf(request);
  let key: KeyRecord | undefined;
  let head: ReplyHead = [...EVERY_REPLY, 'x-request-id', requestId];
  const note = (more: Pick<AuditEntry, 'policyResult' | 'target' | 'result' | 'approvedBy'>): void => {
    counter.audit?.write({ requestId, remote, actor: key?.owner, keyId: key?.id, action, ...more });
  };
  try {
    const origin = guardRequest(request.headers, counter.guard);
    if (origin !== undefined) head = [...head, ...OPEN_TO_PAGES, 'access-control-allow-origin', origin];
    if (request.method === 'OPTIONS' && origin !== undefined) {
      response.writeHead(204, [...head]).end();
      return;
    }
    const { route, params } = findRoute(counter.routes, request.method ?? '', url.pathname);
    key = counter.entrance.enter(request.headers, remote);
    requireScope(key, route.scope);
    const body = route.body === undefined ? {} : await readJsonBody(request, counter.desk.limits.body);
    const { headers } = request;
    const call = { key, params, query: url.searchParams, headers, body, response, head };
    const reply = await route.answer(call, counter.desk);
    send(response, reply, head);
    if (request.method === 'POST')
      note({ policyResult: 'allowed', ...('json' in reply ? { ...reply.audit } : {}) });
  } catch (thrown) {
    const error = asPolypodError(thrown);
    const { status, word, body, headers } = wireError(error, requestId);
    if (status >= 500)
      counter.log.error('a request failed', {
        requestId,
        action,
        message: error.message,
        cause: String(error.cause),
      });
    if (request.method === 'POST' || status === 401 || status === 403) note({ policyResult: word });
    if (response.headersSent) response.destroy();
    else
      sendText(
        response,
        status,
        [...head, ...Object.entries(headers ?? {}).flat()],
        JSON_TYPE,
        JSON.stringify(body),
      );
  } finally {
    const ms = Math.round(performance.now() - began);
    counter.log.debug('request', { requestId, action, status: response.statusCode, ms, keyId: key?.id });
  }
}

function send(response: ServerResponse, reply: Reply, head: ReplyHead): void {
  if ('json' in reply) sendText(response, reply.status ?? 200, head, JSON_TYPE, JSON.stringify(reply.json));
  else if ('text' in reply) sendText(response, 200, head, reply.type, reply.text);
  else if ('nothing' in reply) response.writeHead(204, [...head]).end();
}

/** As text, not as bytes: Node joins it with the headers, and all leaves as one. */
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

const JSON_TYPE = 'application/json; charset=utf-8';

const EVERY_REPLY: ReplyHead = ['x-content-type-options', 'nosniff', 'cache-control', 'no-store'];

const OPEN_TO_PAGES: ReplyHead = [
  'access-control-allow-methods',
  'GET, POST',
  'access-control-allow-headers',
  'Authorization, X-API-Key, Content-Type, Idempotency-Key, Last-Event-ID, X-Request-Id',
  'vary',
  'Origin',
];
