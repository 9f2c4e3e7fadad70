import swagger from '@fastify/swagger';
import Fastify from 'fastify';
import { type JsonObject, objectOf, stringOf } from '../../../base/index.ts';
import { routeUrl } from './route-path.ts';
import { fastifySchema, headerName } from './route-schema.ts';
import type { Route } from './route.ts';
import { SCHEMAS } from './schemas.ts';

/** Generates the OpenAPI 3.1 document from the schemas of the routes. */
export async function openApiDocument(routes: readonly Route[], version: string): Promise<JsonObject> {
  const app = Fastify();
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Polypod tasks',
        version,
        summary: 'Submit tasks to an agent, and follow them live.',
        license: { name: 'MIT', identifier: 'MIT' },
      },
      // Relative to this document: behind a proxy, the public name is unknown.
      servers: [{ url: '/', description: 'The agent that serves this document.' }],
    },
    refResolver: { buildLocalReference: ({ $id }) => (typeof $id === 'string' ? $id : '') },
  });
  // It only describes: the compilers are not needed.
  app.setValidatorCompiler(() => () => true);
  app.setSerializerCompiler(() => JSON.stringify);
  for (const [name, schema] of Object.entries(SCHEMAS)) app.addSchema({ ...schema, $id: name });
  for (const route of routes)
    app.route({
      method: route.method,
      url: routeUrl(route.path),
      schema: fastifySchema(route),
      handler: () => {},
    });
  await app.ready();
  const document = objectOf(app.swagger());
  await app.close();
  return completed(document, new Map(routes.map((route) => [route.operationId, route])));
}

/** Adds the errors and the security of each operation. */
function completed(document: JsonObject, byId: ReadonlyMap<string, Route>): JsonObject {
  const { schemas } = objectOf(document.components);
  return {
    ...document,
    paths: mapValues(objectOf(document.paths), (methods) =>
      mapValues(objectOf(methods), (operation) => completedOperation(objectOf(operation), byId)),
    ),
    components: {
      schemas: mapValues(objectOf(schemas), withoutId),
      responses: Object.fromEntries(
        Object.entries(REFUSALS).map(([status, about]) => [`Refused${status}`, refusal(status, about)]),
      ),
      securitySchemes: SECURITY_SCHEMES,
    },
  };
}

function completedOperation(operation: JsonObject, byId: ReadonlyMap<string, Route>): JsonObject {
  const route = byId.get(String(operation.operationId));
  if (route === undefined) return operation;
  const { requestBody, parameters } = operation;
  return {
    ...operation,
    ...(Array.isArray(parameters) && { parameters: parameters.map((one) => namedParameter(objectOf(one))) }),
    ...(requestBody !== undefined && {
      requestBody: { description: 'At most 1 MiB, and 32 levels deep.', ...objectOf(requestBody) },
    }),
    responses: {
      ...objectOf(operation.responses),
      ...Object.fromEntries(
        refusalsOf(route).map((status) => [status, { $ref: `#/components/responses/Refused${status}` }]),
      ),
    },
    security: securityOf(route),
  };
}

function namedParameter(parameter: JsonObject): JsonObject {
  return parameter.in === 'header' ? { ...parameter, name: headerName(stringOf(parameter.name)) } : parameter;
}

function withoutId(schema: unknown): JsonObject {
  const { $id: _, title: _title, ...rest } = objectOf(schema);
  return rest;
}

function mapValues(object: JsonObject, map: (value: unknown) => JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, map(value)]));
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

function refusal(status: string, description: string): JsonObject {
  const headers = status === '429' || status === '503' ? { headers: { 'Retry-After': RETRY_AFTER } } : {};
  return {
    description,
    ...headers,
    content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
  };
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
