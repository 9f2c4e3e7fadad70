import { readFileSync, statSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { readKeys, revokeKey } from '../../../src/protocols/tasks/index.ts';
import { SocketClient } from '../../wire/web-socket-client.ts';
import { oddRequest, raw, textAnswer, type TasksFixture, task, tasksFixture } from './fixture.ts';

async function expectAlive(fixture: TasksFixture): Promise<void> {
  expect((await fixture.client().get('/health')).body).toEqual({ status: 'ok' });
}

describe('keys', () => {
  it('are required for everything but GET /health on this machine', async () => {
    const fixture = await tasksFixture([]);
    for (const path of [
      '/tasks',
      '/sessions',
      '/status',
      '/metrics',
      '/openapi.json',
      '/ws',
      '/usage',
      '/approvals',
    ]) {
      const { status, body, headers } = await fixture.bare().get(path);
      expect({ path, status, body }).toMatchObject({
        status: 401,
        body: { error: { code: 'unauthorized' } },
      });
      expect(headers.get('www-authenticate')).toContain('Bearer');
    }
    expect((await fixture.bare().post('/submit_task', task())).status).toBe(401);
    expect(await fixture.bare().get('/health')).toMatchObject({ status: 200, body: { status: 'ok' } });
    expect((await fixture.bare('wrong').get('/health')).status).toBe(401);
    await expectAlive(fixture);
  });

  it('are accepted in either header, and never in the URL', async () => {
    const { key, bare } = await tasksFixture([]);
    const text = key();
    expect((await bare().get('/tasks', { 'x-api-key': text })).status).toBe(200);
    expect((await bare().get('/tasks', { authorization: `bearer ${text}` })).status).toBe(200);
    for (const query of ['key', 'api_key', 'access_token', 'token'])
      expect((await bare().get(`/tasks?${query}=${text}`)).status).toBe(401);
  });

  it('that are wrong, truncated or revoked are refused', async () => {
    const { key, bare, keyFile } = await tasksFixture([]);
    const text = key();
    const id = text.split('_')[1] ?? '';
    for (const wrong of [`${text}x`, text.slice(0, -1), `ppk_${id}_${'a'.repeat(43)}`, 'x', id])
      expect((await bare(wrong).get('/tasks')).status).toBe(401);
    expect((await bare(text).get('/tasks')).status).toBe(200);
    revokeKey(keyFile, id);
    expect((await bare(text).get('/tasks')).status).toBe(401);
    expect(readKeys(keyFile)).toMatchObject([{ id, owner: 'ada' }]);
  });

  it('are stored as hashes, readable only by their owner', async () => {
    const { key, keyFile, logged, bare } = await tasksFixture([]);
    const text = key();
    await bare(text).get('/tasks');
    expect(readFileSync(keyFile, 'utf8')).not.toContain(text.slice('ppk_012345678901_'.length));
    expect(statSync(keyFile).mode & 0o777).toBe(0o600);
    expect(logged.join('\n')).not.toContain(text);
  });

  it('allow only what their permissions say', async () => {
    const { client } = await tasksFixture([textAnswer('Hello.')]);
    const reader = client({ scopes: ['read'] });
    const submitter = client({ scopes: ['submit'] });
    const refused = await reader.post('/submit_task', task());
    expect(refused).toMatchObject({
      status: 403,
      body: { error: { code: 'missing_scope', details: { scope: 'submit' } } },
    });
    const taskId = await submitter.submit();
    expect((await submitter.get(`/tasks/${taskId}/status`)).status).toBe(403);
    await reader.done(taskId);
    expect((await reader.post('/approvals/x/decide', { decision: 'approve' })).status).toBe(403);
    expect((await reader.get('/metrics')).status).toBe(403);
  });

  it('have a limited request rate', async () => {
    const { client } = await tasksFixture([], { tasks: { limits: { rate: { perMinute: 1, burst: 2 } } } });
    const ada = client();
    expect([(await ada.get('/tasks')).status, (await ada.get('/tasks')).status]).toEqual([200, 200]);
    const { status, body, headers } = await ada.get('/tasks');
    expect({ status, body }).toMatchObject({ status: 429, body: { error: { code: 'rate_limited' } } });
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await client({ owner: 'bob' }).get('/tasks')).status).toBe(200);
  });

  it('have a limited number of connections', async () => {
    const http = { connectionsPerKey: 2 };
    const { client, key, door } = await tasksFixture([], { tasks: { limits: { http } } });
    const headers = { Authorization: `Bearer ${key()}` };
    const links = [1, 2].map(() => new SocketClient(door().url, headers));
    for (const link of links) await link.upgraded();
    const third = new SocketClient(door().url, headers);
    await third.closed;
    expect(third.answer).toMatch(/^HTTP\/1.1 429 [^]*too_many_connections/);
    expect((await client({ owner: 'bob' }).get('/tasks')).status).toBe(200);
    links[0]?.socket.destroy();
    for (;;) {
      const next = new SocketClient(door().url, headers);
      if (await next.upgraded().catch(() => false)) break;
    }
  });

  it('cannot be guessed quickly', async () => {
    const { bare, client } = await tasksFixture([], {
      tasks: { limits: { wrongKeys: { perMinute: 1, burst: 2 } } },
    });
    expect((await bare('a').get('/tasks')).status).toBe(401);
    expect((await bare('b').get('/tasks')).status).toBe(401);
    expect(await bare('c').get('/tasks')).toMatchObject({
      status: 429,
      body: { error: { code: 'rate_limited', message: expect.stringContaining('too many invalid keys') } },
    });
    // Guessing locks out no one else, and a request without a key is not a guess.
    expect((await client().get('/tasks')).status).toBe(200);
    expect((await bare().get('/tasks')).status).toBe(401);
  });

  it("behind a proxy are limited by the client's address", async () => {
    const { bare } = await tasksFixture([], {
      tasks: { behindProxy: true, limits: { wrongKeys: { perMinute: 1, burst: 1 } } },
    });
    const from = (address: string) => ({ 'x-forwarded-for': `10.9.9.9, ${address}` });
    expect((await bare('a').get('/tasks', from('192.0.2.1'))).status).toBe(401);
    expect((await bare('b').get('/tasks', from('192.0.2.1'))).status).toBe(429);
    expect((await bare('c').get('/tasks', from('192.0.2.2'))).status).toBe(401);
  });

  it('can come from the environment', async () => {
    const { bare } = await tasksFixture([], {
      tasks: { keys: [{ key: 'from-the-environment', owner: 'ci', scopes: ['read'] }] },
    });
    expect((await bare('from-the-environment').get('/tasks')).status).toBe(200);
  });
});

describe('the listening address', () => {
  it.each([
    ['an address of others without TLS', { address: '0.0.0.0' }, 'certificate'],
    [
      'an address of others without keys',
      { address: '0.0.0.0', noAuth: true, behindProxy: true },
      'loopback',
    ],
  ])('refuses %s', async (_, tasks, word) => {
    await expect(tasksFixture([], { tasks })).rejects.toThrow(word);
  });

  it('can be public behind a proxy, and can be loopback without keys', async () => {
    const behind = await tasksFixture([], { tasks: { address: '0.0.0.0', behindProxy: true } });
    expect((await behind.bare().get('/tasks')).status).toBe(401);
    const open = await tasksFixture([], { tasks: { noAuth: true } });
    expect((await open.bare().get('/tasks')).status).toBe(200);
  });
});

describe('pages of other origins', () => {
  it('cannot use DNS rebinding', async () => {
    const fixture = await tasksFixture([], { tasks: { hosts: ['agent.example'] } });
    const { url } = fixture.door();
    const { port } = new URL(url);
    const key = { 'x-api-key': fixture.key() };
    const statusFor = async (host: string) => (await oddRequest(url, '/health', { host, ...key })).status;
    for (const host of [
      'evil.example',
      `evil.example:${port}`,
      '127.0.0.1.evil.example',
      'a@127.0.0.1',
      'x/y',
    ])
      expect([host, await statusFor(host)]).toEqual([host, 403]);
    for (const host of [`127.0.0.1:${port}`, `localhost:${port}`, 'LOCALHOST', '[::1]:80', 'agent.example'])
      expect([host, await statusFor(host)]).toEqual([host, 200]);
  });

  it('are refused unless they are configured', async () => {
    const fixture = await tasksFixture([], { tasks: { origins: ['https://ui.example'] } });
    const { url } = fixture.door();
    const foreign = await oddRequest(url, '/health', { origin: 'https://evil.example' });
    expect(foreign.status).toBe(403);
    expect(foreign.headers).not.toHaveProperty('access-control-allow-origin');
    expect((await oddRequest(url, '/health', { origin: 'null' })).status).toBe(403);
    const named = await oddRequest(url, '/tasks', { origin: 'https://ui.example' }, 'OPTIONS');
    expect(named.status).toBe(204);
    expect(named.headers['access-control-allow-origin']).toBe('https://ui.example');
    const own = { origin: url, 'x-api-key': fixture.key() };
    expect((await oddRequest(url, '/health', own)).status).toBe(200);
  });
});

describe('an invalid request', () => {
  it.each([
    ['malformed JSON', '{"sessionId":', 400, 'malformed_json'],
    ['no object', '[1]', 400, 'invalid_request'],
    ['deep JSON', `${'['.repeat(100_000)}${']'.repeat(100_000)}`, 400, 'too_deep'],
    ['bad UTF-8', new Uint8Array([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x7d]), 400, 'malformed_utf8'],
    ['nothing', '', 400, 'malformed_json'],
    ['a body that is too large', `{"a":"${'x'.repeat(1024 * 1024)}"}`, 413, 'body_too_large'],
  ])('is answered as documented: %s', async (_, body, status, code) => {
    const fixture = await tasksFixture([]);
    const answer = await fixture.client().post('/submit_task', body);
    expect(answer).toMatchObject({ status, body: { error: { code } } });
    expect(JSON.stringify(answer.body)).not.toMatch(/\bat .*\.[jt]s/);
    await expectAlive(fixture);
  });

  it('is refused if its content type is not JSON', async () => {
    const ada = (await tasksFixture([])).client();
    const answer = await ada.post('/submit_task', task(), { 'content-type': 'text/plain' });
    expect(answer).toMatchObject({ status: 415, body: { error: { code: 'unsupported_media_type' } } });
  });

  it('cannot modify the prototypes of our objects', async () => {
    const fixture = await tasksFixture([textAnswer('Hello.')]);
    const ada = fixture.client();
    const text = `{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},${JSON.stringify(task({ context: {} })).slice(1)}`;
    const { body } = await ada.post(
      '/submit_task',
      text.replace('"context":{}', '"context":{"__proto__":{"polluted":1}}'),
    );
    await ada.done(String(body.taskId));
    expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false);
  });

  it('is answered even if it is not HTTP, has too long a header, or arrives too slowly', async () => {
    const fixture = await tasksFixture([], {
      tasks: { limits: { http: { headersMs: 60, requestMs: 120 } } },
    });
    const { url } = fixture.door();
    expect(await raw(url, 'hello\r\n\r\n')).toContain('malformed_request');
    expect(await raw(url, `GET / HTTP/1.1\r\nHost: localhost\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`)).toContain(
      'headers_too_large',
    );
    expect(await raw(url, 'GET / HTTP/1.1\r\nHost: local')).toContain('request_timeout');
    const head = `POST /submit_task HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nX-API-Key: ${fixture.key()}\r\nContent-Length: 100\r\n\r\n`;
    expect(await raw(url, head, '{"sessionId"')).toContain('request_timeout');
    await expectAlive(fixture);
  });

  it('is answered with 404, or with 405 and what is allowed', async () => {
    const ada = (await tasksFixture([])).client();
    for (const path of [
      '/',
      '/nothing',
      '/tasks/',
      '/tasks/x/status/',
      '/tasks/%ff/status',
      '/..%2f..%2fetc',
    ])
      expect([path, (await ada.get(path)).status]).toEqual([path, 404]);
    const { status, headers } = await ada.get('/submit_task');
    expect([status, headers.get('allow')]).toEqual([405, 'POST']);
    expect((await ada.get('/tasks/task_x/status')).body).toMatchObject({ error: { code: 'not_found' } });
    expect((await ada.get('/ws')).status).toBe(426);
  });
});
