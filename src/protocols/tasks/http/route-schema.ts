import type { FastifySchema } from 'fastify';
import type { TObject } from 'typebox';
import { asPolypodError, isObject, type JsonObject, objectOf } from '../../../base/index.ts';
import type { RawReply, Route } from './route.ts';
import { BODY_NAMES, SCHEMA_NAMES, SCHEMAS, type SchemaName } from './schemas.ts';
import { readerFor } from './validation.ts';

/** The schema of a route for Fastify: it validates requests and serializes responses, and the OpenAPI document is made of it. */
export function fastifySchema({
  path,
  operationId,
  summary,
  body,
  query,
  headers,
  reply,
}: Route): FastifySchema {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
  return {
    operationId,
    summary,
    ...(names.length > 0 && {
      params: {
        type: 'object',
        properties: Object.fromEntries(names.map((name) => [name, { type: 'string', minLength: 1 }])),
        required: names,
      },
    }),
    ...(body !== undefined && { body: reference(body) }),
    ...(query !== undefined && { querystring: query }),
    ...(headers !== undefined && { headers }),
    response:
      typeof reply === 'string'
        ? { 200: { description: 'Done.', ...reference(reply) } }
        : rawResponses(reply),
  };
}

function rawResponses({ type, about }: RawReply): JsonObject {
  if (type === 'websocket') return { 101: { description: about, type: 'null' } };
  const ok = { description: about, content: { [type]: { schema: { type: 'string' } } } };
  if (type === 'text/plain') return { 200: ok };
  return {
    200: ok,
    204: {
      description: 'The client has received the last event: a browser stops reconnecting.',
      type: 'null',
    },
  };
}

function reference(name: SchemaName): JsonObject {
  return { $ref: `${name}#` };
}

/** Fastify's validator of a part of requests. */
export function validatorFor({ schema, httpPart }: { readonly schema: unknown; readonly httpPart?: string }) {
  // The parameter of a path is checked together with its spelling.
  const read = httpPart === 'params' ? () => {} : readerOf(objectOf(schema), httpPart === 'headers');
  return (value: unknown) => {
    try {
      read(value);
      return true;
    } catch (thrown) {
      return { error: asPolypodError(thrown) };
    }
  };
}

function readerOf(schema: JsonObject, isHeaders: boolean): (value: unknown) => unknown {
  const name = bodyNameIn(schema);
  return name === undefined
    ? readerFor(undefined, schema, isHeaders ? headerName : undefined)
    : readerFor(BODY_NAMES[name] ?? 'the body', SCHEMAS[name]);
}

function bodyNameIn({ $ref }: JsonObject): SchemaName | undefined {
  return SCHEMA_NAMES.find((name) => $ref === reference(name).$ref);
}

/** The usual spelling of a header: Node.js and schemas have lower case. */
export function headerName(name: string): string {
  return name.replaceAll(/[a-z]+/g, (word) =>
    word === 'id' ? 'ID' : `${word.charAt(0).toUpperCase()}${word.slice(1)}`,
  );
}

/** Converts the numbers of a query: everything in a URL is text. */
export function typedQuery(schema: TObject, query: JsonObject): JsonObject {
  const entries = Object.entries(query).map(([name, value]) => {
    const { type } = objectOf(isObject(schema.properties) ? schema.properties[name] : undefined);
    const isNumber = type === 'integer' && typeof value === 'string' && /^-?\d{1,15}$/.test(value);
    return [name, isNumber ? Number(value) : value] as const;
  });
  return Object.fromEntries(entries);
}
