import type { JsonObject } from '../../base/index.ts';
import type { Route } from './route.ts';
import { SCHEMAS } from './schemas.ts';

/** The routes as an OpenAPI 3.1 document. */
export function openApi(routes: readonly Route[], version: string): JsonObject {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of routes) (paths[route.path] ??= {})[route.method.toLowerCase()] = operation(route);
  return {
    openapi: '3.1.0',
    info: { title: 'Polypod tasks', version, summary: 'Hand tasks to an agent, and follow them live.' },
    paths,
    components: {
      schemas: SCHEMAS,
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer' },
        header: { type: 'apiKey', in: 'header', name: 'X-API-Key' },
      },
    },
  };
}

function operation(route: Route): JsonObject {
  const { summary, path, scope, body, query = {}, headers = {}, reply } = route;
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => parameter('path', name ?? '', ''));
  const parameters = [
    ...inPath,
    ...Object.entries(query).map(([name, about]) => parameter('query', name, about)),
    ...Object.entries(headers).map(([name, about]) => parameter('header', name, about)),
  ];
  const content =
    typeof reply === 'string'
      ? { 'application/json': { schema: reference(reply) } }
      : { [reply.type]: { schema: { type: 'string' } } };
  return {
    summary,
    ...(parameters.length > 0 && { parameters }),
    ...(body && {
      requestBody: { required: true, content: { 'application/json': { schema: reference(body) } } },
    }),
    responses: {
      200: { description: 'Done.', content },
      ...('type' in Object(reply) && { 204: { description: 'The last event was seen already.' } }),
      ...Object.fromEntries(Object.entries(REFUSALS).map(([status, about]) => [status, refusal(about)])),
    },
    security: [{ bearer: [scope] }, { header: [scope] }],
  };
}

function parameter(place: 'path' | 'query' | 'header', name: string, description: string): JsonObject {
  return {
    in: place,
    name,
    required: place === 'path',
    schema: { type: 'string' },
    ...(description !== '' && { description }),
  };
}

function refusal(description: string): JsonObject {
  return { description, content: { 'application/json': { schema: reference('Error') } } };
}

function reference(name: string): JsonObject {
  return { $ref: `#/components/schemas/${name}` };
}

const REFUSALS: Readonly<Record<number, string>> = {
  400: 'The request cannot be read; details.field names what is wrong.',
  401: 'There is no key, or it is not good.',
  403: 'The key, the host or the origin may not do that.',
  404: 'It is not there, or belongs to somebody else.',
  405: 'Another method is needed.',
  408: 'The request took too long to arrive.',
  409: 'It does not fit what is there.',
  413: 'The body is too large.',
  415: 'The body is not JSON.',
  417: 'Only Expect: 100-continue is understood.',
  426: 'This is a WebSocket.',
  429: 'Too much, too often: Retry-After says when to come back.',
  431: 'The headers are too large.',
  500: 'Something is broken here.',
  503: 'The agent is about to stop.',
};
