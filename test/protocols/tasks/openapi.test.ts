import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isObject, type JsonObject, objectOf } from '../../../src/base/index.ts';
import { ROUTES } from '../../../src/protocols/tasks/routes.ts';
import { type DocumentedOperation, ServedDocument } from './document.ts';
import { textAnswer, task, tasksFixture } from './fixture.ts';
import { violationsOf } from './violations.ts';

const UNBOUNDED = { rate: { perMinute: 1e9, burst: 1e9 }, keepAliveMs: 1_000 };

describe('the OpenAPI document', () => {
  it('has every route and no other, with its name, parameters, security and responses', async () => {
    const { client } = await tasksFixture([]);
    const served = await ServedDocument.from(client());
    const { document, operations } = served;
    expect(document.openapi).toBe('3.1.0');
    expect(document.servers).toEqual([{ url: '/', description: expect.any(String) }]);
    expect(operations.map(({ method, path }) => `${method} ${path}`).toSorted()).toEqual(
      ROUTES.map(({ method, path }) => `${method} ${path}`).toSorted(),
    );
    expect(new Set(operations.map(({ operationId }) => operationId)).size).toBe(ROUTES.length);
    for (const { operationId } of operations) expect(operationId).toMatch(/^[a-z][A-Za-z]+$/);
    for (const { operationId, scope } of ROUTES) {
      const { path, parameters = [], security, responses, requestBody } = served.operation(operationId);
      const inPath = parameters.filter((one) => one.in === 'path').map(({ name }) => name);
      expect(inPath).toEqual([...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name));
      expect(security).toEqual(expect.arrayContaining([{ bearer: [scope] }, { header: [scope] }]));
      expect(Object.keys(responses).some((status) => Number(status) < 300)).toBe(true);
      expect(Object.hasOwn(responses, 413)).toBe(requestBody !== undefined);
    }
    const { responses, security } = served.operation('openWebSocket');
    expect(Object.keys(responses)).toEqual(expect.arrayContaining(['101', '426']));
    expect(responses).not.toHaveProperty('200');
    expect(security).toContainEqual({ subprotocol: ['read'] });
    expect(served.operation('getHealth').security).toContainEqual({});
    for (const stream of ['streamTaskEvents', 'streamSessionEvents'])
      expect(served.operation(stream).security).toContainEqual({ ticket: [] });
    const types = (operationId: string): unknown =>
      Object.fromEntries(
        (served.operation(operationId).parameters ?? []).map(({ name, schema }) => [name, schema]),
      );
    expect(types('listTasks')).toEqual({
      sessionId: { type: 'string' },
      status: { type: 'string', enum: ['pending', 'in_progress', 'completed', 'failed'] },
      limit: { type: 'integer', minimum: 1, maximum: 1000, default: 100 },
    });
  });

  it('has no dangling references, and all schemas and security schemes are used', async () => {
    const { client } = await tasksFixture([]);
    const { document } = await ServedDocument.from(client());
    const text = JSON.stringify(document);
    const used = new Set([...text.matchAll(/"#\/components\/(\w+\/\w+)"/g)].map(([, name]) => name));
    const { schemas, responses, securitySchemes } = document.components;
    const documentedPaths = [
      ...Object.keys(schemas).map((name) => `schemas/${name}`),
      ...Object.keys(responses).map((name) => `responses/${name}`),
    ];
    expect([...used].toSorted((a = '', b = '') => a.localeCompare(b))).toEqual(
      documentedPaths.toSorted((a, b) => a.localeCompare(b)),
    );
    for (const name of Object.keys(securitySchemes)) expect(text).toMatch(new RegExp(`\\{"${name}":\\[`));
  });

  it('describes every response, whatever the request', async () => {
    const { client } = await tasksFixture(() => textAnswer('Hello.'), { tasks: { limits: UNBOUNDED } });
    const ada = client({ scopes: ['admin'] });
    const name = fc.oneof(
      fc.constantFrom('$task', 's1', 'x', '..', '%00', '1', '-1', '1e9'),
      fc.string({ unit: 'binary' }),
    );
    // Generated before the first request: on a busy machine that takes longer than the idle timeout of a connection.
    const input = fc.tuple(fc.nat(), fc.array(name, { minLength: 4, maxLength: 4 }), body());
    const inputs = fc.sample(input, 150);
    const served = await ServedDocument.from(ada);
    const taskId = await ada.submit();
    await ada.done(taskId);
    const { operations } = served;
    for (const [index, names, sent] of inputs) {
      const at = operations[index % operations.length];
      if (at === undefined) throw new Error('there are operations');
      const values = names.map((value) => (value === '$task' ? taskId : value));
      const part = (): string => encodeURIComponent(values.pop() ?? '');
      const path = at.path.replaceAll(/\{\w+\}/g, part);
      const query = (at.parameters ?? []).flatMap((parameter) =>
        parameter.in === 'query' ? [`${parameter.name}=${part()}`] : [],
      );
      const stop = new AbortController();
      const response = await fetch(`${ada.url}${path}?${query.join('&')}`, {
        method: at.method,
        headers: { ...ada.headers, 'content-type': 'application/json' },
        ...(at.method === 'POST' && { body: sent }),
        signal: stop.signal,
        redirect: 'manual',
      });
      const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
      const text = isStream ? '' : await response.text();
      stop.abort();
      // A path with dot segments resolves to another route.
      if (new URL(response.url).pathname !== path) continue;
      const { operationId } = at;
      const surprises = response.status < 500 ? served.surprises(at, response, text) : text;
      expect({ operationId, path, query, sent, surprises }).toEqual({
        operationId,
        path,
        query,
        sent,
        surprises: '',
      });
    }
    expect((await ada.get('/health')).status).toBe(200);
  });
});

/** Valid bodies, with every key that has a rule. */
function soundBodies(cwd: string): Readonly<Record<string, JsonObject>> {
  const context = {
    workingDirectory: cwd,
    model: 'sim-model',
    permissionMode: 'read-only',
    allowedPaths: [cwd],
    files: ['a.txt'],
    maxTurns: 1,
    budget: 0,
  };
  return {
    submitTask: task({ context }),
    decideApproval: {
      decision: 'deny',
      comment: '',
      updatedArguments: '{}',
      remember: 'once',
      sessionId: 'no-such-session',
    },
    createStreamTicket: { taskId: 'task_of_nobody' },
  };
}

describe('the rules in the OpenAPI document', () => {
  it('are all enforced: a violation gets a 400 that names the field, a valid body does not', async () => {
    const { client, cwd } = await tasksFixture(() => textAnswer('Hello.'), { tasks: { limits: UNBOUNDED } });
    const ada = client({ scopes: ['admin'] });
    const served = await ServedDocument.from(ada);
    const checked: string[] = [];
    const send = async (at: DocumentedOperation, sent: unknown): Promise<void> => {
      const isSound = served.faults(served.bodySchema(at), sent) === '';
      const { status, body: answer } = await ada.post(at.path.replace(/\{\w+\}/, 'none'), sent);
      expect({ sent, isRefused: status === 400, answer }).toEqual({ sent, isRefused: !isSound, answer });
      if (status === 400) expect(answer).toHaveProperty('error.details.field');
    };
    const bodies = soundBodies(cwd);
    const withBody = served.operations.filter(({ requestBody }) => requestBody !== undefined);
    expect(withBody.map(({ operationId }) => operationId).toSorted()).toEqual(Object.keys(bodies).toSorted());
    for (const at of withBody) {
      const sound = bodies[at.operationId] ?? {};
      const schema = served.bodySchema(at);
      expect(served.faults(schema, sound)).toBe('');
      await send(at, sound);
      await send(at, { ...sound, unknown: { any: 'thing' } });
      for (const { rule, value } of violationsOf(schema, sound)) {
        expect([rule, served.faults(schema, value)]).not.toEqual([rule, '']);
        await send(at, value);
        checked.push(rule);
      }
    }
    // At the limits, in characters and not in code units.
    const [submit, ticket] = [served.operation('submitTask'), served.operation('createStreamTicket')];
    // They are enforced, so that a rule which is missing in the document is found too.
    const x = (count: number): string => 'x'.repeat(count);
    for (const sessionId of ['😀'.repeat(200), x(200), x(201), 'a\u0085', 'a\nb', '\u200b', '\ud800', ' x '])
      await send(submit, task({ sessionId }));
    for (const context of [
      {},
      { files: Array.from({ length: 100 }, () => 'f') },
      { files: Array.from({ length: 101 }, () => 'f') },
      { allowedPaths: Array.from({ length: 100 }, () => cwd) },
      { allowedPaths: Array.from({ length: 101 }, () => cwd) },
      { model: x(200) },
      { model: x(201) },
      { workingDirectory: `/${x(4_096)}` },
      { workingDirectory: '/a\0' },
      { workingDirectory: 'relative' },
      { maxTurns: 2 ** 53 - 1 },
      { maxTurns: 2 ** 53 },
      { maxTurns: 0 },
      { maxTurns: '3' },
      { budget: -0.01 },
      { budget: 1e300 },
    ])
      await send(submit, task({ context }));
    for (const both of [{}, { taskId: 'a', sessionId: 'b' }]) await send(ticket, both);
    expect(checked.length).toBeGreaterThan(60);
  });

  it('are complete: a body is refused exactly if the document forbids it', async () => {
    const { client, cwd } = await tasksFixture(() => textAnswer('Hello.'), { tasks: { limits: UNBOUNDED } });
    const ada = client({ scopes: ['admin'] });
    const bodies = soundBodies(cwd);
    const text = fc.oneof(
      fc.string({ maxLength: 210 }),
      fc.string({ unit: 'binary', maxLength: 5 }),
      fc.constant(' '),
    );
    const any = fc.oneof(
      text,
      fc.jsonValue({ maxDepth: 2 }),
      fc.constantFrom(null, 0, 1, 1.5, -1, '1', 2 ** 53, []),
    );
    const sent = fc.constantFrom(...Object.keys(bodies)).chain((operationId) => {
      const { context, ...sound } = bodies[operationId] ?? {};
      // Whether a path exists and a model is known is not a rule of the document.
      const known = (some: JsonObject): fc.Arbitrary<JsonObject> =>
        fc
          .tuple(
            fc.dictionary(fc.constantFrom(...Object.keys(some), 'other'), any),
            fc.subarray(Object.keys(some)),
          )
          .map(([odd, keys]) => ({
            ...Object.fromEntries(keys.map((key) => [key, some[key]])),
            ...(isObject(odd) ? odd : {}),
          }));
      return fc
        .tuple(known(sound), known(objectOf(context)), fc.boolean())
        .map(([outer, inner, hasContext]) => ({
          operationId,
          value: {
            ...sound,
            ...outer,
            ...(hasContext && context !== undefined && { context: inner }),
          } as JsonObject,
        }));
    });
    const inputs = fc.sample(sent, 250).filter(({ value }) => {
      const { workingDirectory = cwd, model = 'sim-model', allowedPaths } = objectOf(value.context);
      return (
        (typeof workingDirectory !== 'string' || workingDirectory === cwd) &&
        (typeof model !== 'string' || model === 'sim-model') &&
        (!Array.isArray(allowedPaths) || allowedPaths.every((path) => path === cwd))
      );
    });
    const served = await ServedDocument.from(ada);
    const count = { refused: 0, accepted: 0 };
    for (const { operationId, value } of inputs) {
      const at = served.operation(operationId);
      const isSound = served.faults(served.bodySchema(at), value) === '';
      const { status } = await ada.post(at.path.replace(/\{\w+\}/, 'none'), value);
      expect({ value, isRefused: status === 400 }).toEqual({ value, isRefused: !isSound });
      count[isSound ? 'accepted' : 'refused'] += 1;
    }
    expect(Math.min(count.refused, count.accepted)).toBeGreaterThan(20);
  });

  it('apply to queries and headers too', async () => {
    const { client } = await tasksFixture(() => textAnswer('Hello.'), { tasks: { limits: UNBOUNDED } });
    const ada = client({ scopes: ['admin'] });
    const served = await ServedDocument.from(ada);
    const taskId = await ada.submit();
    await ada.done(taskId);
    const values = [
      ...[
        '',
        '0',
        '1',
        '1000',
        '1001',
        '-1',
        '1.5',
        '1e2',
        'x',
        'completed',
        'Completed',
        'in_progress',
        '12',
        '12.1',
      ],
      ...['12.', '1.2.3', '999999999999999', '9999999999999999', 'k'.repeat(200), 'k'.repeat(201)],
    ];
    let count = 0;
    for (const at of served.operations)
      for (const parameter of at.parameters ?? [])
        for (const value of parameter.in === 'path' ? [] : values) {
          const { name, schema } = parameter;
          const typed = schema.type === 'integer' && /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : value;
          const isSound = served.faults(schema, typed) === '';
          const path = at.path.replace('{taskId}', taskId).replace('{sessionId}', 's1');
          const stop = new AbortController();
          const response = await fetch(
            `${ada.url}${path}${parameter.in === 'query' ? `?${name}=${encodeURIComponent(value)}` : ''}`,
            {
              method: at.method,
              headers: {
                ...ada.headers,
                ...(parameter.in === 'header' && { [name]: value }),
                ...(at.method === 'POST' && { 'content-type': 'application/json' }),
              },
              ...(at.method === 'POST' && { body: JSON.stringify(task({ sessionId: `s${count}` })) }),
              signal: stop.signal,
            },
          );
          stop.abort();
          expect({ at: at.operationId, name, value, isRefused: response.status === 400 }).toEqual({
            at: at.operationId,
            name,
            value,
            isRefused: !isSound,
          });
          count += 1;
        }
    expect(count).toBeGreaterThan(150);
  });
});

/** Bodies from valid to senseless. */
function body(): fc.Arbitrary<string> {
  const odd = fc.oneof(fc.jsonValue(), fc.constantFrom('chat', 'approve', 'deny', 's1', '/tmp', 0, -1, null));
  const mixed = fc
    .dictionary(
      fc.constantFrom(
        'sessionId',
        'taskId',
        'userPrompt',
        'taskType',
        'context',
        'decision',
        'comment',
        '__proto__',
      ),
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
