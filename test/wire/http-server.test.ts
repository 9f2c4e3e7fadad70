import { connect } from 'node:net';
import { onTestFinished, describe, expect, it } from 'vitest';
import { asPolypodError, PolypodError } from '../../src/base/index.ts';
import {
  guardRequest,
  type HttpServerOptions,
  httpRefusal,
  httpRefusalFrom,
  networkKey,
  RateTable,
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

/** A server that answers every request when its body has arrived. */
async function server(more: Partial<HttpServerOptions> = {}) {
  const listening = await serveHttp({
    host: '127.0.0.1',
    port: 0,
    upgrade: (_, socket) => void socket.destroy(),
    handle: (request, response) => {
      request.resume().on('end', () => response.end('done'));
    },
    ...more,
  });
  onTestFinished(() => listening.close());
  return listening;
}

async function turnsUntil(condition: () => boolean): Promise<void> {
  while (!condition())
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
}

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

describe('a server', () => {
  it('reports which port is in use', async () => {
    const { port } = await server();
    await expect(server({ port })).rejects.toThrow(`cannot listen on 127.0.0.1 port ${port}: it is in use`);
  });

  it('ends a request that makes no progress', async () => {
    const { port } = await server({ limits: { headersMs: 30, requestMs: 60 } });
    const socket = connect(port, '127.0.0.1');
    socket.write(
      'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{',
    );
    let answer = '';
    for await (const bytes of socket) answer += String(bytes);
    expect(answer).toMatch(/^HTTP\/1.1 408 [\s\S]*request_timeout/);
  });

  it('closes all connections when it is closed', async () => {
    const listening = await server();
    const socket = connect(listening.port, '127.0.0.1');
    socket.on('error', () => {});
    await new Promise<void>((resolve) => {
      socket.on('connect', () => resolve());
    });
    const closed = new Promise((resolve) => {
      socket.on('close', resolve);
    });
    // The client knows the connection before the server does.
    await turnsUntil(() => listening.connections > 0);
    await listening.close();
    await closed;
  });
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
    const listening = await server({
      limits: { stalledMs: 200 },
      handle: (_, response) => void response.end(Buffer.alloc(50_000_000)),
    });
    const socket = connect(listening.port, '127.0.0.1');
    socket.on('error', () => {});
    socket.pause();
    socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await turnsUntil(() => listening.connections === 1);
    await turnsUntil(() => listening.connections === 0);
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
