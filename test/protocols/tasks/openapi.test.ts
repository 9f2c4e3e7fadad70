import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isObject, type JsonObject, objectOf, schemaProblems } from '../../../src/base/index.ts';
import { ROUTES } from '../../../src/protocols/tasks/routes.ts';
import { type Client, says, task, tasksStage } from './stage.ts';

interface Operation {
  readonly parameters?: readonly { readonly in: string; readonly name: string }[];
  readonly requestBody?: { readonly content: Record<string, { readonly schema: JsonObject }> };
  readonly responses: Record<string, { readonly content?: Record<string, { readonly schema: JsonObject }> }>;
  readonly security: readonly JsonObject[];
}

interface Document extends JsonObject {
  readonly openapi: string;
  readonly paths: Record<string, Record<string, Operation>>;
  readonly components: { readonly schemas: Record<string, JsonObject> };
}

async function documentFrom(client: Client): Promise<Document> {
  return (await client.get<Document>('/openapi.json')).body;
}

/** The schema with what it refers to in place. */
function resolved(document: Document, schema: unknown): JsonObject {
  const { $ref: name } = objectOf(schema);
  if (typeof name === 'string')
    return resolved(document, document.components.schemas[name.split('/').at(-1) ?? '']);
  return objectOf(schema);
}

/** What an answer has that the document does not say of it. */
function strangeness(
  document: Document,
  operation: Operation,
  answer: Response,
  text: string,
): readonly string[] {
  const told = operation.responses[answer.status];
  if (told === undefined) return [`${answer.status} is not in the document: ${text}`];
  if (answer.status >= 500) return [`${answer.status}: ${text}`];
  const type = answer.headers.get('content-type')?.split(';')[0] ?? '';
  const schema = told.content?.[type]?.schema;
  if (answer.status === 204) return [];
  if (schema === undefined) return [`${type} is not in the document for ${answer.status}`];
  return type === 'application/json' ? schemaProblems(JSON.parse(text), resolved(document, schema)) : [];
}

describe('the OpenAPI document', () => {
  it('has every route and no other, with its parameters and its key', async () => {
    const { client } = await tasksStage([]);
    const document = await documentFrom(client());
    expect(document.openapi).toBe('3.1.0');
    const told = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect(told.toSorted()).toEqual(ROUTES.map(({ method, path }) => `${method} ${path}`).toSorted());
    for (const { method, path, scope } of ROUTES) {
      const operation = document.paths[path]?.[method.toLowerCase()];
      const inPath = operation?.parameters
        ?.filter((parameter) => parameter.in === 'path')
        .map(({ name }) => name);
      expect(inPath ?? []).toEqual([...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name));
      expect(operation?.security).toEqual([{ bearer: [scope] }, { header: [scope] }]);
    }
  });

  it('refers only to schemas that are there', async () => {
    const { client } = await tasksStage([]);
    const document = await documentFrom(client());
    const names = [...JSON.stringify(document).matchAll(/"#\/components\/schemas\/(\w+)"/g)].map(
      ([, name]) => name ?? '',
    );
    expect(names.length).toBeGreaterThan(20);
    for (const name of names) expect(document.components.schemas).toHaveProperty(name);
  });

  it('tells the truth about every answer, whatever is sent', async () => {
    const limits = { rate: { perMinute: 1e9, burst: 1e9 }, keepAliveMs: 1_000 };
    const { client } = await tasksStage(() => says('Hello.'), { tasks: { limits } });
    const ada = client({ scopes: ['admin'] });
    const document = await documentFrom(ada);
    const taskId = await ada.submit();
    await ada.done(taskId);
    const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
    );
    const name = fc.oneof(
      fc.constantFrom(taskId, 's1', 'x', '..', '%00', '1', '-1', '1e9'),
      fc.string({ unit: 'binary' }),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...operations),
        fc.array(name, { minLength: 4, maxLength: 4 }),
        body(),
        async (at, names, sent) => {
          const values = [...names];
          const part = (): string => encodeURIComponent(values.pop() ?? '');
          const path = at.path.replaceAll(/\{\w+\}/g, part);
          const query = (at.operation.parameters ?? []).flatMap((parameter) =>
            parameter.in === 'query' ? [`${parameter.name}=${part()}`] : [],
          );
          const stop = new AbortController();
          const response = await fetch(`${ada.url}${path}?${query.join('&')}`, {
            method: at.method.toUpperCase(),
            headers: { ...ada.headers, 'content-type': 'application/json' },
            ...(at.method === 'post' && { body: sent }),
            signal: stop.signal,
            redirect: 'manual',
          });
          const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
          const text = isStream ? '' : await response.text();
          stop.abort();
          // An address that was changed by its dots is another route's.
          if (new URL(response.url).pathname !== path) return;
          expect(strangeness(document, at.operation, response, text)).toEqual([]);
        },
      ),
      { numRuns: 300 },
    );
    expect((await ada.get('/health')).status).toBe(200);
  });
});

/** Bodies from right to senseless. */
function body(): fc.Arbitrary<string> {
  const odd = fc.oneof(fc.jsonValue(), fc.constantFrom('chat', 'approve', 'deny', 's1', '/tmp', 0, -1, null));
  const mixed = fc
    .dictionary(
      fc.constantFrom('sessionId', 'userPrompt', 'taskType', 'context', 'decision', 'comment', '__proto__'),
      odd,
    )
    .map((some) => ({ ...(isObject(some) ? some : {}) }));
  return fc.oneof(
    mixed.map((some) => JSON.stringify({ ...task({ sessionId: 'fuzz' }), ...some })),
    mixed.map((some) => JSON.stringify(some)),
    fc.json(),
    fc.string(),
  );
}
