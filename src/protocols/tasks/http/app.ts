import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import rateLimit from '@fastify/rate-limit';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { asPolypodError, objectOf, type PolypodError } from '../../../base/index.ts';
import { type BodyLimits, httpRefusal, parseJsonBody, type Rate } from '../../../wire/index.ts';
import { refuseKeyInAddress, requirePermission, tooManyRequests } from './authenticator.ts';
import { wireError } from '../errors.ts';
import type { KeyRecord } from '../keys/key.ts';
import type { RequestNote } from './request-audit.ts';
import {
  authenticate,
  checkHeaders,
  clean,
  clientRequestId,
  isBodyLeft,
  isOpenHealth,
  noPath,
  proofFor,
  refuseFailedAttempts,
  type RequestContext,
} from './request-checks.ts';
import { addPages, isPageRequest } from './pages.ts';
import { isDecodable, isPath, methodsAt, routeUrl, refuseOtherSpelling } from './route-path.ts';
import type { Reply, Route, RouteCall } from './route.ts';
import { fastifySchema, typedQuery, validatorFor } from './route-schema.ts';
import { SCHEMAS } from './schemas.ts';

/** The HTTP application: it routes, checks, validates, answers and documents requests. */
export interface TasksApp {
  readonly handle: (request: IncomingMessage, response: ServerResponse) => void;
  /** Counts one request or message of a key. Rejects if it exceeds the key's rate. */
  readonly charge: (key: KeyRecord) => Promise<void>;
  readonly close: () => Promise<void>;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The key of an authenticated request. */
    key: KeyRecord | undefined;
    remote: string;
    startedAt: number;
  }
}

/** Builds the application from the table of routes. */
export async function createApp(routes: readonly Route[], requestContext: RequestContext): Promise<TasksApp> {
  const { context } = requestContext;
  const { limits } = context;
  const app = Fastify({
    genReqId: () => randomUUID(),
    bodyLimit: limits.body.bytes,
    // The listener closes its connections; requests that arrive until then are answered.
    return503OnClosing: false,
    rewriteUrl: ({ url = '' }) => (isPath(url) ? (isDecodable(url) ? url : NO_ROUTE) : NO_PATH),
    routerOptions: { maxParamLength: MAX_PARAMETER },
  });
  app.setValidatorCompiler(validatorFor);
  app.decorateRequest('key', undefined);
  app.decorateRequest('remote', '');
  app.decorateRequest('startedAt', 0);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(JSON_TYPE, { parseAs: 'buffer' }, (_, body, done) => {
    try {
      done(null, parseJsonBody(Buffer.from(body), limits.body));
    } catch (thrown) {
      done(asPolypodError(thrown));
    }
  });
  const count = await registerRate(app, limits.rate);
  app.addHook('onRequest', (request, reply, done) => {
    try {
      const key = admit(request, reply, requestContext);
      if (key === undefined) return;
      if (key === 'without key') {
        done();
        return;
      }
      request.key = key;
      count(key)
        .then((over) => {
          if (over !== undefined) throw over;
          refuseKeyInAddress(request.url, objectOf(request.query));
          if (request.is404) throw noRoute(routes, request);
          done();
        })
        .catch((thrown: unknown) => done(asPolypodError(thrown)));
    } catch (thrown) {
      done(asPolypodError(thrown));
    }
  });
  app.setErrorHandler((thrown, request, reply) => refuse(thrown, request, reply, requestContext));
  for (const [name, schema] of Object.entries(SCHEMAS)) app.addSchema({ ...schema, $id: name });
  for (const route of routes.filter(({ body }) => body !== undefined)) addRoute(app, route, requestContext);
  // Routes without a body do not read what a client sends nevertheless.
  await app.register(async (others) => {
    others.removeAllContentTypeParsers();
    others.addContentTypeParser('*', (_, __, done) => done(null));
    for (const route of routes.filter(({ body }) => body === undefined))
      addRoute(others, route, requestContext);
    await addPages(others);
  });
  await app.ready();
  return {
    handle: (request, response) => app.routing(request, response),
    charge: async (key) => {
      const over = await count(key);
      if (over !== undefined) throw over;
    },
    close: () => app.close(),
  };
}

/**
 * Counts the requests and messages of each key. A window of time with `burst` of them has the average of `perMinute`. The counter
 * resolves with the refusal of one that exceeds it.
 */
async function registerRate(
  app: FastifyInstance,
  { perMinute, burst }: Rate,
): Promise<(key: KeyRecord) => Promise<PolypodError | undefined>> {
  await app.register(rateLimit, {
    global: false,
    max: burst,
    timeWindow: Math.max(1, Math.round((burst * 60_000) / perMinute)),
    keyGenerator: ({ key }) => key?.id ?? '',
    cache: MOST_KEYS,
  });
  const check = app.createRateLimit();
  // Without an async function of its own: this runs for every request.
  return (key) =>
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the limiter reads only these fields of a request
    check({ key, routeOptions: NO_OPTIONS } as unknown as FastifyRequest).then((result) =>
      !result.isAllowed && result.isExceeded ? tooManyRequests(result.ttlInSeconds) : undefined,
    );
}

/** Checks a request up to its key, which pages do not need. Returns undefined if the request was answered. */
function admit(
  request: FastifyRequest,
  reply: FastifyReply,
  requestContext: RequestContext,
): KeyRecord | 'without key' | undefined {
  const { raw } = request;
  const remote = requestContext.remoteOf(raw);
  request.remote = remote;
  request.startedAt = performance.now();
  reply.headers(EVERY_REPLY);
  reply.header('x-request-id', request.id);
  const proof = proofFor(raw, requestContext);
  if (proof !== undefined) reply.headers(proof);
  const ticket = ticketOf(request);
  refuseFailedAttempts(requestContext, remote, raw, ticket);
  if (raw.url === NO_PATH) throw noPath();
  const origin = checkHeaders(raw, requestContext);
  if (origin !== undefined) reply.headers({ ...OPEN_TO_PAGES, 'access-control-allow-origin': origin });
  if (raw.method === 'OPTIONS' && origin !== undefined) {
    requestContext.refusals.count(remote);
    reply.code(204).send();
    return undefined;
  }
  if (isOpenHealth(raw, remote)) {
    requestContext.refusals.count(remote);
    reply.type(JSON_UTF8).send('{"status":"ok"}');
    return undefined;
  }
  if (isPageRequest(request)) {
    requestContext.refusals.count(remote);
    return 'without key';
  }
  return authenticate(raw, requestContext, remote, ticket);
}

function ticketOf({ method, query }: FastifyRequest): string | undefined {
  const { ticket } = method === 'GET' ? objectOf(query) : {};
  return typeof ticket === 'string' ? ticket : undefined;
}

function addRoute(app: FastifyInstance, route: Route, requestContext: RequestContext): void {
  const { context, authenticator } = requestContext;
  const { method, path, scope, body, query } = route;
  const parameter = /\{(\w+)\}/.exec(path)?.[1];
  const idOf = ({ params }: FastifyRequest): string =>
    parameter === undefined ? '' : String(objectOf(params)[parameter]);
  app.route({
    method,
    url: routeUrl(path),
    schema: fastifySchema(route),
    // After the hook of all routes, which has found the key.
    onRequest: (request, reply, done) => {
      const id = idOf(request);
      refuseOtherSpelling(request.url, path, id);
      const ticket = ticketOf(request);
      if (ticket !== undefined) authenticator.spend(ticket, { path, id });
      requirePermission(keyOf(request), scope);
      if (body !== undefined && request.headers.expect !== undefined) reply.raw.writeContinue();
      done();
    },
    ...((body !== undefined || query !== undefined) && {
      preValidation: (request: FastifyRequest, _: FastifyReply, done: () => void) => {
        if (body !== undefined && request.body === undefined) throw notJson();
        if (query !== undefined) request.query = typedQuery(query, objectOf(request.query));
        done();
      },
    }),
    handler: (request, reply) => {
      const call: RouteCall = {
        key: keyOf(request),
        id: idOf(request),
        query: request.query,
        headers: request.headers,
        body: request.body,
        isHead: request.method === 'HEAD',
        takeOver: () => {
          reply.hijack();
          const head = Object.entries(reply.getHeaders()).flatMap(([name, value]) => [name, String(value)]);
          return { response: reply.raw, head };
        },
      };
      const finish = (answer: Reply): void => {
        send(reply, answer);
        const { isConstant, audit } = 'json' in answer ? answer : {};
        // A repeated submission changes nothing.
        if (method === 'POST' && isConstant !== true)
          note(request, requestContext, { policyResult: 'allowed', ...audit });
        logRequest(request, reply, requestContext);
      };
      const answer = route.answer(call, context);
      // Without a promise, the response is sent in the same turn.
      if (answer instanceof Promise)
        answer.then(finish).catch((thrown: unknown) => reply.send(asPolypodError(thrown)));
      else finish(answer);
    },
  });
}

function keyOf({ key }: FastifyRequest): KeyRecord {
  if (key === undefined) throw new Error('the request has no key');
  return key;
}

function send(reply: FastifyReply, answer: Reply): void {
  if ('json' in answer) {
    if (answer.isConstant === true) reply.type(JSON_UTF8).send(constantText(reply, answer.json));
    else reply.send(answer.json);
  } else if ('text' in answer) reply.type(answer.type).send(answer.text);
  else if ('nothing' in answer) reply.code(204).send();
}

/** The texts of responses that are sent repeatedly. */
const CONSTANTS = new WeakMap<object, ReturnType<FastifyReply['serialize']>>();

function constantText(reply: FastifyReply, json: object): ReturnType<FastifyReply['serialize']> {
  const known = CONSTANTS.get(json) ?? reply.serialize(json);
  CONSTANTS.set(json, known);
  return known;
}

/** Answers a request that failed, whatever the reason. */
function refuse(
  thrown: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  requestContext: RequestContext,
): void {
  const error = refusalOf(thrown, requestContext.context.limits.body) ?? asPolypodError(thrown);
  const { key, remote } = request;
  const { status, code: word, body, headers = {} } = wireError(error, request.id);
  requestContext.context.refused.add(word);
  if (status >= 500)
    requestContext.log.error('a request failed', {
      requestId: request.id,
      action: actionOf(request),
      message: error.message,
      cause: String(error.cause),
    });
  const isOverRate = key === undefined && requestContext.refusals.wait(remote) > 0;
  if (key === undefined && !isOverRate) requestContext.refusals.count(remote);
  if (status === 429) requestContext.refusals.drop(remote, key?.id);
  else note(request, requestContext, { policyResult: word });
  logRequest(request, reply, requestContext);
  if (reply.raw.headersSent) {
    reply.raw.destroy();
    return;
  }
  if (isOverRate || isBodyLeft(request.raw)) reply.header('connection', 'close');
  reply.code(status).headers(headers).type(JSON_UTF8).send(JSON.stringify(body));
}

/** Our error for one of Fastify. */
function refusalOf(thrown: unknown, { bytes }: BodyLimits): PolypodError | undefined {
  const { code } = objectOf(thrown);
  switch (code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      // The rest of the body is not read, so the connection cannot be reused.
      return httpRefusal(413, 'body_too_large', `the body is larger than ${bytes} bytes`, {
        headers: { connection: 'close' },
      });
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return notJson();
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return httpRefusal(400, 'incomplete_body', 'the body ended too early');
    default:
      return undefined;
  }
}

/**
 * Also prevents cross-site requests: pages of other origins can send forms and text without a preflight, but not JSON.
 */
function notJson(): PolypodError {
  return httpRefusal(415, 'unsupported_media_type', 'the body must have the Content-Type application/json');
}

function noRoute(routes: readonly Route[], { url }: FastifyRequest): PolypodError {
  const path = url.replace(/\?.*$/s, '');
  const allow = methodsAt(routes, path).join(', ');
  const shown = path.slice(0, 200);
  return allow === ''
    ? httpRefusal(404, 'not_found', `no route for ${shown}`)
    : httpRefusal(405, 'method_not_allowed', `use ${allow} for ${shown}`, { headers: { allow } });
}

function note(
  request: FastifyRequest,
  { audit }: RequestContext,
  more: Pick<RequestNote, 'policyResult' | 'target' | 'result'>,
): void {
  if (audit === undefined) return;
  const { id: requestId, remote, key } = request;
  audit.write({
    requestId,
    clientRequestId: clientRequestId(request.raw),
    remote,
    actor: key?.owner,
    keyId: key?.id,
    action: actionOf(request),
    ...more,
  });
}

function actionOf({ method, originalUrl }: FastifyRequest): string {
  return clean(`${method} ${isPath(originalUrl) ? originalUrl.replace(/\?.*$/s, '') : originalUrl}`);
}

function logRequest(request: FastifyRequest, reply: FastifyReply, { log }: RequestContext): void {
  log.debug('request', () => ({
    requestId: request.id,
    action: actionOf(request),
    status: reply.statusCode,
    ms: Math.round(performance.now() - request.startedAt),
    keyId: request.key?.id,
  }));
}

/** Targets without a route: one for what is not a path, one for a path that the router cannot decode. */
const NO_PATH = '/-';
const NO_ROUTE = '/--';
const NO_OPTIONS = { config: {} };
const MAX_PARAMETER = 16 * 1024;
const MOST_KEYS = 10_000;
const JSON_TYPE = /^application\/json\s*(?:;|$)/i;
const JSON_UTF8 = 'application/json; charset=utf-8';

const EVERY_REPLY = { 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' };

const OPEN_TO_PAGES = {
  'access-control-allow-methods': 'GET, HEAD, POST',
  'access-control-allow-headers':
    'Authorization, X-API-Key, Content-Type, Idempotency-Key, Last-Event-ID, X-Request-Id',
  'access-control-max-age': '600',
  vary: 'Origin',
};
