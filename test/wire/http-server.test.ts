import { request } from 'node:http';
import { connect } from 'node:net';
import { onTestFinished, describe, expect, it } from 'vitest';
import { asPolypodError, PolypodError } from '../../src/base/index.ts';
import {
  findRoute,
  guardRequest,
  type HttpServerOptions,
  httpRefusal,
  httpRefusalFrom,
  networkKey,
  RateTable,
  readJsonBody,
  parseTarget,
  serveHttp,
} from '../../src/wire/index.ts';

/** Returns the HTTP details of the error that a call throws. */
function caughtRefusal(call: () => unknown): { readonly status?: number; readonly code?: string } {
  try {
    call();
    return {};
  } catch (thrown) {
    return httpRefusalFrom(asPolypodError(thrown)) ?? {};
  }
}

/** A server that returns the body it has read, or the code of the error. */
async function mirror(more: Partial<HttpServerOptions> = {}) {
  const server = await serveHttp({
    host: '127.0.0.1',
    port: 0,
    upgrade: async ({ socket }) => {
      socket.destroy();
    },
    handle: async ({ request: sent, response, requestId }) => {
      try {
        const body = await readJsonBody(sent, { bytes: 100, depth: 3 });
        response.end(JSON.stringify({ body, requestId }));
      } catch (thrown) {
        const { status = 500, code = '' } = httpRefusalFrom(asPolypodError(thrown)) ?? {};
        if (!response.destroyed) response.writeHead(status, { connection: 'close' }).end(code);
      }
    },
    ...more,
  });
  onTestFinished(() => server.close());
  return server;
}

async function turnsUntil(condition: () => boolean): Promise<void> {
  while (!condition())
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
}

const JSON_TYPE = { 'content-type': 'application/json' };

describe('routes', () => {
  const routes = [
    { method: 'GET', path: '/tasks' },
    { method: 'GET', path: '/tasks/{taskId}/status' },
    { method: 'POST', path: '/tasks/{taskId}/cancel' },
    { method: 'POST', path: '/tasks' },
  ] as const;

  it('are found by method and path, with their parameters', () => {
    const { route, params } = findRoute(routes, 'GET', '/tasks/a%2Fb/status');
    expect(route.path).toBe('/tasks/{taskId}/status');
    expect([...params]).toEqual([['taskId', 'a/b']]);
    expect(findRoute(routes, 'POST', '/tasks').route.method).toBe('POST');
  });

  it('are rejected for unknown paths and for wrong methods', () => {
    for (const path of [
      ...['/', '/tasks/', '/tasks//status', '/tasks/%ff/status', '/Tasks', '/tasks/x/status/y'],
      ...['/%74asks', '/tasks/../status', '/tasks/%2e%2E/status', '/tasks/./status', '//tasks', '/tasks;a=b'],
    ])
      expect([path, caughtRefusal(() => findRoute(routes, 'GET', path)).status]).toEqual([path, 404]);
    expect(caughtRefusal(() => findRoute(routes, 'DELETE', '/tasks'))).toMatchObject({
      status: 405,
      headers: { allow: 'GET, HEAD, POST' },
    });
  });
});

describe('the server guard', () => {
  const guard = { hosts: ['agent.example'], origins: ['https://ui.example'] };

  it.each([
    '127.0.0.1',
    '127.0.0.1:80',
    'localhost:8000',
    '[::1]:80',
    '10.0.0.7',
    'Agent.Example',
    'agent.example.',
  ])('accepts the host %s', (host) => expect(guardRequest({ host }, guard)).toBeUndefined());

  it.each([
    'evil.example',
    'localhost.evil.example',
    'a@localhost',
    'localhost:80:80',
    '127.0.0.1/x',
    'localhost x',
  ])('rejects the host "%s"', (host) =>
    expect(caughtRefusal(() => guardRequest({ host }, guard)).code).toBe('host_not_allowed'),
  );

  it('accepts its own origin and configured ones', () => {
    const host = 'localhost:80';
    expect(guardRequest({ host, origin: 'http://localhost:80' }, guard)).toBe('http://localhost:80');
    expect(guardRequest({ host, origin: 'https://ui.example' }, guard)).toBe('https://ui.example');
    for (const origin of [
      'null',
      'http://localhost',
      'https://ui.example.evil',
      'localhost:80',
      'http://ui.example',
    ])
      expect([origin, caughtRefusal(() => guardRequest({ host, origin }, guard)).code]).toEqual([
        origin,
        'origin_not_allowed',
      ]);
  });
});

describe('a body', () => {
  it.each([
    ['{"a":[1,{"b":"]]]]"}]}', 200, '"b"'],
    ['{"a":[[[1]]]}', 400, 'too_deep'],
    ['{"a":1', 400, 'malformed_json'],
    ['"text"', 400, 'invalid_request'],
    [`{"a":"${'x'.repeat(100)}"}`, 413, 'body_too_large'],
    ['{"a":"\\"[[[[["}', 200, '[[[[['],
  ])('%s is answered with %i', async (body, status, code) => {
    const { url } = await mirror();
    const response = await fetch(url, { method: 'POST', body, headers: JSON_TYPE });
    expect(response.status).toBe(status);
    expect(await response.text()).toContain(code);
  });

  it('without a declared length is limited too', async () => {
    const { url } = await mirror();
    const status = await new Promise((resolve, reject) => {
      const sent = request(url, { method: 'POST', headers: JSON_TYPE }, (response) => {
        response.resume();
        resolve(response.statusCode);
      });
      sent.on('error', reject);
      for (let count = 0; count < 20; count += 1) sent.write(' '.repeat(10));
      sent.flushHeaders();
    });
    expect(status).toBe(413);
  });

  it('requires the JSON content type', async () => {
    const { url } = await mirror();
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/jsonx'])
      expect(
        (await fetch(url, { method: 'POST', body: '{}', headers: { 'content-type': type } })).status,
      ).toBe(415);
    const charset = { 'content-type': 'application/json; charset=utf-8' };
    expect((await fetch(url, { method: 'POST', body: '{}', headers: charset })).status).toBe(200);
  });
});

describe('a server', () => {
  it('gives every request its own id', async () => {
    const { url } = await mirror();
    const ask = async (headers: Record<string, string>): Promise<string> => {
      const response = await fetch(url, {
        method: 'POST',
        body: '{}',
        headers: { ...JSON_TYPE, ...headers },
      });
      return ((await response.json()) as { requestId: string }).requestId;
    };
    expect(await ask({})).toMatch(/^[0-9a-f-]{36}$/);
    expect(await ask({ 'x-request-id': 'mine-1' })).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('reports which port is in use', async () => {
    const { port } = await mirror();
    await expect(mirror({ port })).rejects.toThrow(`cannot listen on 127.0.0.1 port ${port}: it is in use`);
  });

  it('ends a request that makes no progress', async () => {
    const { port } = await mirror({ limits: { headersMs: 30, requestMs: 60 } });
    const socket = connect(port, '127.0.0.1');
    socket.write(
      'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{',
    );
    let answer = '';
    for await (const bytes of socket) answer += String(bytes);
    expect(answer).toMatch(/^HTTP\/1.1 408 [\s\S]*request_timeout/);
  });

  it('closes all connections when it is closed', async () => {
    const server = await mirror();
    const socket = connect(server.port, '127.0.0.1');
    socket.on('error', () => {});
    await new Promise<void>((resolve) => {
      socket.on('connect', () => resolve());
    });
    const closed = new Promise((resolve) => {
      socket.on('close', resolve);
    });
    // The client knows the connection before the server does.
    await turnsUntil(() => server.connections > 0);
    await server.close();
    await closed;
  });
});

describe('parseTarget', () => {
  it.each(['/tasks', '/tasks/a%2Fb/status', '//host/status', '/tasks/../../status', '/', '/a?b=/c\\'])(
    'keeps the target as sent: %s',
    (target) => expect(parseTarget(target)?.pathname).toBe(target.replace(/\?.*/, '')),
  );

  it.each([
    'http://host/status',
    '*',
    'status',
    '',
    '/tasks\\..',
    '/a%2',
    '/a%zz',
    '/a#b',
    '/a b',
    '/\u00e4',
  ])('rejects what is not a path: %s', (target) => expect(parseTarget(target)).toBeUndefined());
});

describe('limits per address', () => {
  it.each([
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['::1', '::1'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['2001:0db8:0000:0000:ffff:1:2:3', '2001:db8:0:0::/64'],
    ['2001:db8:0:1::7', '2001:db8:0:1::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['not an address', 'not an address'],
  ])('count %s as %s', (address, network) => expect(networkKey(address)).toBe(network));

  it('track at most 10,000 addresses and drop the least recently used first', () => {
    const rates = new RateTable({ perMinute: 1, burst: 1 });
    for (let count = 0; count < 30_000; count += 1) {
      rates.take('steady');
      rates.take(String(count));
    }
    expect(rates.size).toBe(10_000);
    expect(rates.wait('steady')).toBeGreaterThan(0);
    expect(rates.wait('0')).toBe(0);
  });
});

describe('a response that the client does not read', () => {
  it('ends with its connection', async () => {
    const server = await mirror({
      limits: { stalledMs: 200 },
      handle: async ({ response }) => {
        response.end(Buffer.alloc(50_000_000));
      },
    });
    const socket = connect(server.port, '127.0.0.1');
    socket.on('error', () => {});
    socket.pause();
    socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await turnsUntil(() => server.connections === 1);
    await turnsUntil(() => server.connections === 0);
  });
});

describe('a refusal', () => {
  it('carries its status and is distinguishable from other errors', () => {
    const error = httpRefusal(429, 'rate_limited', 'too often', { details: { a: 1 } });
    expect(error.code).toBe('overloaded');
    expect(httpRefusalFrom(error)).toEqual({ status: 429, code: 'rate_limited', details: { a: 1 } });
    expect(httpRefusalFrom(new PolypodError('internal', 'x', { cause: new Error('y') }))).toBeUndefined();
  });
});
