import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { SocketClient } from '../../../wire/web-socket-client.ts';
import { selfSignedFiles } from '../certificate.ts';
import { exchange, rawConnection, request, statusOf } from './connect.ts';
import { limitedAgent, MEGABYTE } from './limited-agent.ts';

describe('requests without a valid key', () => {
  it('are refused by address before authentication, cheaply, and lock out no valid key', async () => {
    const agent = await limitedAgent('limits: { unauthenticated_per_minute: 30 }');
    const before = await agent.usage();
    const statuses = [];
    let refused = '';
    for (let count = 0; count < 300; count += 1) {
      refused = await exchange(agent.port, request(`/tasks/${'x'.repeat(8_000)}`));
      statuses.push(statusOf(refused));
    }
    expect(statuses.slice(0, 10)).toEqual(Array(10).fill(401));
    // A token is added every two seconds.
    expect(statuses.filter((status) => status === 429).length).toBeGreaterThan(250);
    expect(refused).toMatch(/retry-after: \d+\r\n/i);
    expect(refused).toMatch(/connection: close\r\n/i);
    expect(JSON.parse(refused.split('\r\n\r\n')[1] ?? '')).toMatchObject({
      error: { code: 'rate_limited', message: expect.stringContaining('without a valid key') },
    });
    const good = agent.fixture.client();
    for (let count = 0; count < 50; count += 1) expect((await good.get('/tasks')).status).toBe(200);
    const after = await agent.usage();
    expect(after.live - before.live).toBeLessThan(20 * MEGABYTE);
    await agent.stop();
    const audit = readFileSync(join(agent.fixture.dataDirectory, 'logs', 'audit.jsonl'), 'utf8');
    expect(audit.length).toBeLessThan(30_000);
    expect(audit).toMatch(/"outcome":"rate_limited","count":2\d\d/);
  });

  it('count whatever their error', async () => {
    const agent = await limitedAgent('limits: { unauthenticated_per_minute: 1 }');
    const { port } = agent;
    // One token per minute: the request that uses it gets its own error, and the next one gets 429 or no answer.
    for (const [bytes, status] of [
      [request('/nowhere'), 401],
      [request('/tasks', ['Host: evil.example']), 429],
    ] as const)
      expect([bytes, statusOf(await exchange(port, bytes))]).toEqual([bytes, status]);
    const link = new SocketClient(agent.url);
    await link.closed;
    expect(link.answer).toMatch(/^HTTP\/1.1 429 /);
    expect(await exchange(port, 'not HTTP\r\n\r\n')).toBe('');
    // Headers of clients do not determine their address.
    expect(statusOf(await exchange(port, request('/tasks', ['X-Forwarded-For: 192.0.2.7'])))).toBe(429);
    expect(statusOf(await exchange(port, request('/health')))).toBe(429);
    expect(statusOf(await exchange(port, request('/health', [`X-API-Key: ${agent.key}`])))).toBe(200);
  });

  it('count each kind by itself: a foreign Host or Origin, a path, a wrong key, a WebSocket, invalid HTTP', async () => {
    const agent = await limitedAgent('behind_proxy: true\nlimits: { unauthenticated_per_minute: 1 }');
    const from = (address: string): string => `X-Forwarded-For: ${address}`;
    const upgrade = ['Host: 127.0.0.1', 'Connection: Upgrade', 'Upgrade: websocket', from('192.0.2.5')];
    for (const [address, bytes, status] of [
      [
        '192.0.2.1',
        `GET /tasks HTTP/1.1\r\nHost: evil.example\r\n${from('192.0.2.1')}\r\nConnection: close\r\n\r\n`,
        403,
      ],
      ['192.0.2.2', request('/nowhere', [from('192.0.2.2')]), 401],
      ['192.0.2.3', request('/tasks', [from('192.0.2.3'), 'X-API-Key: wrong']), 401],
      ['192.0.2.4', request('/tasks', [from('192.0.2.4'), 'Origin: https://evil.example']), 403],
      ['192.0.2.5', `GET /ws HTTP/1.1\r\n${upgrade.join('\r\n')}\r\n\r\n`, 401],
      ['2001:db8::1', request('/tasks', [from('2001:db8::1')]), 401],
      // Requests of the proxy itself count by its own address, like connections.
      ['', 'not HTTP\r\n\r\n', 400],
    ] as const) {
      expect([bytes, statusOf(await exchange(agent.port, bytes))]).toEqual([bytes, status]);
      const next = request('/tasks', address === '' ? [] : [from(address)]);
      expect([address, statusOf(await exchange(agent.port, next))]).toEqual([address, 429]);
    }
    // Another address of the same network.
    expect(statusOf(await exchange(agent.port, request('/tasks', [from('2001:db8::ffff')])))).toBe(429);
    expect(statusOf(await exchange(agent.port, request('/tasks', [from('2001:db8:0:1::1')])))).toBe(401);
  });
});

describe('connections', () => {
  it('without a valid key are limited per address; the oldest are closed and streams with a key stay', async () => {
    const agent = await limitedAgent('limits: { connections_per_address: 5 }');
    const link = await agent.socket();
    const idle = [];
    for (let count = 0; count < 12; count += 1) idle.push(await rawConnection(agent.port));
    // The first seven were closed for the last five.
    await Promise.all(idle.slice(0, 7).map(({ closed }) => closed));
    expect(idle.slice(7).map(({ socket }) => socket.destroyed)).toEqual(Array(5).fill(false));
    expect((await agent.fixture.client().get('/tasks')).status).toBe(200);
    link.send({ method: 'status', request_id: 1 });
    expect(await link.until(() => link.texts[0])).toContain('taskId');
  });

  it('are limited in total; a client with a key is accepted', async () => {
    const agent = await limitedAgent('limits: { connections: 8 }');
    const link = await agent.socket();
    const idle = [];
    for (let count = 0; count < 20; count += 1) idle.push(await rawConnection(agent.port));
    // Seven of them fit beside the one with a key: the newest.
    await Promise.all(idle.slice(0, 13).map(({ closed }) => closed));
    expect(idle.slice(13).map(({ socket }) => socket.destroyed)).toEqual(Array(7).fill(false));
    expect((await agent.fixture.client().get('/tasks')).status).toBe(200);
    expect(link.socket.destroyed).toBe(false);
  });

  it('that only fail TLS handshakes are refused by address, and successful ones do not count', async () => {
    const agent = await limitedAgent(
      'tls: { cert: cert.pem, key: key.pem }\nlimits: { handshakes_per_minute: 2 }',
      { prepare: selfSignedFiles },
    );
    const good = async (): Promise<string> => {
      const { socket, closed } = await rawConnection(agent.port, { tls: true });
      socket.write(request('/tasks', [`X-API-Key: ${agent.key}`]));
      return closed;
    };
    for (let count = 0; count < 20; count += 1) expect(statusOf(await good())).toBe(200);
    for (let count = 0; count < 3; count += 1) {
      const { socket, closed } = await rawConnection(agent.port);
      socket.write(Buffer.from([0x16, 3, 1, 0, 5, 1, 2, 3, 4, 5]));
      await closed;
    }
    expect(await good()).toBe('');
  });
});
