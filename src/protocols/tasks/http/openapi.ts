import { type JsonObject, withoutUndefined } from '../../../base/index.ts';
import type { Parameter, RawReply, Route } from './route.ts';
import { SCHEMAS } from './schemas.ts';

/** Generates the OpenAPI 3.1 document from the routes. */
export function openApi(routes: readonly Route[], version: string): JsonObject {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of routes) (paths[route.path] ??= {})[route.method.toLowerCase()] = operation(route);
  return {
    openapi: '3.1.0',
    info: {
      title: 'Polypod tasks',
      version,
      summary: 'Submit tasks to an agent, and follow them live.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    // Relative to this document: behind a proxy, the public name is unknown.
    servers: [{ url: '/', description: 'The agent that serves this document.' }],
    paths,
    components: {
      schemas: SCHEMAS,
      responses: Object.fromEntries(
        Object.entries(REFUSALS).map(([status, about]) => [`Refused${status}`, refusal(status, about)]),
      ),
      securitySchemes: SECURITY_SCHEMES,
    },
  };
}

function operation(route: Route): JsonObject {
  const { operationId, summary, path, body, query = {}, headers = {} } = route;
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => parameter('path', name, IN_PATH));
  const parameters = [
    ...inPath,
    ...Object.entries(query).map(([name, one]) => parameter('query', name, one)),
    ...Object.entries(headers).map(([name, one]) => parameter('header', name, one)),
  ];
  return {
    operationId,
    summary,
    ...(parameters.length > 0 && { parameters }),
    ...(body && {
      requestBody: {
        description: 'At most 1 MiB, and 32 levels deep.',
        required: true,
        content: { 'application/json': { schema: reference(body) } },
      },
    }),
    responses: {
      ...success(route),
      ...Object.fromEntries(
        refusalsOf(route).map((status) => [status, { $ref: `#/components/responses/Refused${status}` }]),
      ),
    },
    security: securityOf(route),
  };
}

function success({ reply }: Route): JsonObject {
  if (typeof reply === 'string')
    return { 200: { description: 'Done.', content: { 'application/json': { schema: reference(reply) } } } };
  return rawSuccess(reply);
}

function rawSuccess({ type, about }: RawReply): JsonObject {
  if (type === 'websocket') return { 101: { description: about } };
  const ok = { description: about, content: { [type]: { schema: { type: 'string' } } } };
  if (type === 'text/plain') return { 200: ok };
  return {
    200: ok,
    204: { description: 'The client has received the last event: a browser stops reconnecting.' },
  };
}

function refusalsOf({ body, refusals = [] }: Route): readonly number[] {
  return [...EVERYWHERE, ...(body === undefined ? [] : [413, 415]), ...refusals].toSorted((a, b) => a - b);
}

function securityOf({ scope, alsoAllows }: Route): readonly JsonObject[] {
  const byKey = [{ bearer: [scope] }, { header: [scope] }];
  if (alsoAllows === undefined) return byKey;
  return [
    ...byKey,
    { 'this-machine': {}, tickets: { ticket: [] }, subprotocols: { subprotocol: [scope] } }[alsoAllows],
  ];
}

function parameter(
  location: 'path' | 'query' | 'header',
  name: string,
  { about, schema }: Parameter,
): JsonObject {
  return {
    in: location,
    name,
    required: location === 'path',
    schema,
    ...(about !== '' && { description: about }),
  };
}

const IN_PATH: Parameter = { about: '', schema: { type: 'string', minLength: 1 } };

function refusal(status: string, description: string): JsonObject {
  const headers = status === '429' || status === '503' ? { 'Retry-After': RETRY_AFTER } : undefined;
  return {
    description,
    ...withoutUndefined({ headers }),
    content: { 'application/json': { schema: reference('Error') } },
  };
}

function reference(name: string): JsonObject {
  return { $ref: `#/components/schemas/${name}` };
}

const RETRY_AFTER: JsonObject = {
  description: 'Seconds to wait.',
  schema: { type: 'integer', minimum: 0 },
};

const SECURITY_SCHEMES: JsonObject = {
  bearer: { type: 'http', scheme: 'bearer' },
  header: { type: 'apiKey', in: 'header', name: 'X-API-Key' },
  subprotocol: {
    type: 'apiKey',
    in: 'header',
    name: 'Sec-WebSocket-Protocol',
    description: 'The subprotocols polypod and bearer.<key>, for browsers.',
  },
  ticket: {
    type: 'apiKey',
    in: 'query',
    name: 'ticket',
    description: 'A ticket from POST /stream_tickets, for EventSource in browsers. It opens one stream.',
  },
};

/** The errors that every request can return. */
const EVERYWHERE = [400, 401, 403, 404, 405, 408, 417, 429, 431, 500];

const REFUSALS: Readonly<Record<number, string>> = {
  400: 'The request is invalid; details.field names the invalid field.',
  401: 'The key is missing or invalid.',
  403: 'The key, the host or the origin is not permitted to do that.',
  404: 'It does not exist, or belongs to another owner.',
  405: 'The path does not support this method.',
  408: 'The request took too long to arrive.',
  409: 'It conflicts with the current state.',
  413: 'The body is too large.',
  415: 'The body is not JSON.',
  417: 'Only Expect: 100-continue is supported.',
  426: 'The endpoint is a WebSocket.',
  429: 'Too many requests: wait for the time in Retry-After.',
  431: 'The headers are too large.',
  500: 'Internal error.',
  503: 'The agent is stopping.',
};
