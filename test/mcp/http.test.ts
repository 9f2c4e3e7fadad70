import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { HttpSpec } from '../../src/mcp/index.ts';
import { outputText, StoppedClock, mcpFixture } from './fixture.ts';

type Reply = (request: ReceivedRequest, response: ServerResponse) => void;

interface ReceivedRequest {
  readonly id?: number;
  readonly method: string;
  readonly params?: { readonly protocolVersion?: string; readonly arguments?: object };
}

/** A correct HTTP server, except for the methods that a test overrides. */
class TestServer {
  readonly replies = new Map<string, Reply>();
  readonly requests: IncomingMessage[] = [];
  readonly #server = createServer((request, response) => void this.#answer(request, response));
  #port = 0;

  async start(): Promise<void> {
    this.#server.listen(this.#port, '127.0.0.1');
    await once(this.#server, 'listening');
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  async stop(): Promise<void> {
    if (!this.#server.listening) return;
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, 'close');
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}/mcp`;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.requests.push(request);
    const received: ReceivedRequest =
      request.method === 'POST' ? JSON.parse(await readText(request)) : { method: request.method ?? '' };
    (this.replies.get(received.method) ?? ANSWER)(received, response);
  }
}

const RESULTS: Readonly<Record<string, (received: ReceivedRequest) => object>> = {
  initialize: ({ params }) => ({
    protocolVersion: params?.protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: 'web', version: '1' },
  }),
  ping: () => ({}),
  'tools/list': () => ({ tools: [{ name: 'echo', inputSchema: { type: 'object' } }] }),
  'tools/call': ({ params }) => ({ content: [{ type: 'text', text: JSON.stringify(params?.arguments) }] }),
};

const ANSWER: Reply = (received, response) => {
  const result = RESULTS[received.method]?.(received);
  if (result === undefined)
    return refuse(received.id === undefined && received.method.includes('/') ? 202 : 405)(received, response);
  response.setHeader('content-type', 'application/json');
  if (received.method === 'initialize') response.setHeader('mcp-session-id', 'session');
  response.end(JSON.stringify({ jsonrpc: '2.0', id: received.id, result }));
};

function refuse(status: number): Reply {
  return (_, response) => void response.writeHead(status).end(status === 202 ? '' : 'Sorry.');
}

async function testServer(): Promise<TestServer> {
  const server = new TestServer();
  await server.start();
  onTestFinished(() => server.stop());
  return server;
}

function at({ url }: TestServer, headers: HttpSpec['headers'] = {}): HttpSpec {
  return { transport: 'http', name: 'web', url, headers };
}

describe('a server over HTTP', () => {
  test('receives our headers, and the end of the session', async () => {
    const server = await testServer();
    const { servers, call } = mcpFixture([
      at(server, { Authorization: 'Bearer abcdefgh', 'X-Team': 'blue' }),
    ]);
    expect(outputText(await call('mcp__web__echo', { a: 1 }))).toBe('{"a":1}');
    expect(servers.status()).toEqual([
      { name: 'web', transport: 'http', state: 'ready', tools: 1, version: 'web 1' },
    ]);
    await servers.close();
    expect(server.requests.map(({ method }) => method)).toEqual(
      expect.arrayContaining(['POST', 'GET', 'DELETE']),
    );
    for (const { headers } of server.requests)
      expect(headers).toMatchObject({ authorization: 'Bearer abcdefgh', 'x-team': 'blue' });
  });

  test('that stops is lost, and reconnected when it is back', async () => {
    const server = await testServer();
    const clock = new StoppedClock();
    const { servers, call, until } = mcpFixture([at(server)], { clock });
    await servers.tools();
    await server.stop();
    const output = await call('mcp__web__echo');
    expect(output.isError).toBe(true);
    expect(outputText(output)).toMatch(
      /^The MCP server "web" was lost during the call: fetch failed \(\w+\)\n.* It restarts in 0.5 s \(restart 1 of 5\)/,
    );
    clock.wake();
    await until(() => clock.slept.length === 2);
    expect(servers.status()).toMatchObject([{ state: 'restarting', error: 'fetch failed (ECONNREFUSED)' }]);
    await server.start();
    clock.wake();
    await until(({ state }) => state === 'ready');
    expect((await call('mcp__web__echo')).isError).toBe(false);
    expect(clock.slept).toEqual([500, 1000]);
  });

  test('that stops during a call fails the call at once', async () => {
    const server = await testServer();
    const { servers, call } = mcpFixture([at(server)], { clock: new StoppedClock() });
    await servers.tools();
    server.replies.set('tools/call', (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
      void server.stop();
    });
    const output = await call('mcp__web__echo');
    expect(outputText(output)).toContain('was lost during the call: fetch failed (');
    expect(outputText(output)).toContain('It is unknown whether the call had an effect.');
  });

  test.each([
    ['breaks off', (response: ServerResponse) => response.destroy()],
    ['ends', (response: ServerResponse) => response.end()],
  ])('whose answer %s fails only the call', async (_, end) => {
    const server = await testServer();
    const { servers, call } = mcpFixture([at(server)]);
    server.replies.set('tools/call', (__, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(': a comment\n\n', () => end(response));
    });
    expect(await call('mcp__web__echo')).toMatchObject({
      isError: true,
      summary: 'echo of the MCP server "web" failed: the response stream broke',
    });
    expect(servers.status()).toMatchObject([{ state: 'ready' }]);
    server.replies.clear();
    expect((await call('mcp__web__echo')).isError).toBe(false);
  });

  test('that lost the session gets a new one', async () => {
    const server = await testServer();
    const clock = new StoppedClock();
    const { servers, call, until } = mcpFixture([at(server)], { clock });
    await servers.tools();
    server.replies.set('tools/call', refuse(404)).set('ping', refuse(404));
    const output = await call('mcp__web__echo');
    expect(outputText(output)).toContain('it answered with HTTP 404');
    expect(servers.status()).toMatchObject([{ state: 'restarting' }]);
    server.replies.clear();
    clock.wake();
    await until(({ state }) => state === 'ready');
    expect((await call('mcp__web__echo')).isError).toBe(false);
  });

  test('that fails one call is not restarted', async () => {
    const server = await testServer();
    const { servers, call } = mcpFixture([at(server)]);
    server.replies.set('tools/call', refuse(502));
    expect(await call('mcp__web__echo')).toMatchObject({
      isError: true,
      summary: 'echo of the MCP server "web" failed: it answered with HTTP 502',
    });
    expect(servers.status()).toMatchObject([{ state: 'ready' }]);
  });

  test.each([
    [401, 'failed', 'it rejected the credentials (HTTP 401): correct its headers'],
    [403, 'failed', 'it rejected the credentials (HTTP 403): correct its headers'],
    [404, 'failed', 'it answered with HTTP 404: check its url'],
    [405, 'failed', 'it answered with HTTP 405: check its url'],
    [429, 'restarting', 'it answered with HTTP 429'],
    [500, 'restarting', 'it answered with HTTP 500'],
    [503, 'restarting', 'it answered with HTTP 503'],
  ])('that answers initialization with %i is %s', async (status, state, error) => {
    const server = await testServer();
    server.replies.set('initialize', refuse(status));
    const { servers } = mcpFixture([at(server, { Authorization: 'Bearer abcdefgh' })], {
      clock: new StoppedClock(),
    });
    expect(await servers.tools()).toEqual([]);
    expect(servers.status()).toEqual([{ name: 'web', transport: 'http', state, tools: 0, error }]);
  });

  test('that quotes our key in an error does not leak it into a message', async () => {
    const server = await testServer();
    const { call } = mcpFixture([at(server, { Authorization: 'Bearer abcdefgh' })]);
    server.replies.set('tools/call', ({ id }, response) => {
      const error = { code: -32_000, message: 'abcdefgh is not a key' };
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ jsonrpc: '2.0', id, error }));
    });
    expect(outputText(await call('mcp__web__echo'))).toBe(
      'echo of the MCP server "web" failed: [redacted] is not a key',
    );
  });

  test('that redirects does not get our headers at the new URL', async () => {
    const [server, elsewhere] = [await testServer(), await testServer()];
    server.replies.set(
      'initialize',
      (_, response) => void response.writeHead(307, { location: elsewhere.url }).end(),
    );
    const { servers } = mcpFixture([at(server, { Authorization: 'Bearer abcdefgh' })]);
    await servers.tools();
    expect(servers.status()).toMatchObject([
      { state: 'failed', error: 'it answered with HTTP 307: check its url' },
    ]);
    expect(elsewhere.requests).toEqual([]);
  });

  test('that does not answer times out', async () => {
    const server = await testServer();
    server.replies.set('initialize', () => {});
    const { servers } = mcpFixture([at(server)], { connectTimeoutMs: 300, clock: new StoppedClock() });
    await servers.tools();
    expect(servers.status()).toMatchObject([
      { state: 'restarting', error: 'it did not answer within 0.3 s' },
    ]);
  });

  test('with the transport of 2024 that does not answer times out', async () => {
    const server = await testServer();
    server.replies.set('initialize', refuse(405));
    server.replies.set('GET', (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
    });
    const { servers } = mcpFixture([at(server)], { connectTimeoutMs: 1000 });
    await servers.tools();
    expect(servers.status()).toMatchObject([
      { state: 'failed', error: 'it answered with HTTP 405: check its url' },
    ]);
  });

  test('that is not reachable yet is retried', async () => {
    const server = await testServer();
    await server.stop();
    const clock = new StoppedClock();
    const { servers, until } = mcpFixture([at(server)], { clock });
    await servers.tools();
    expect(servers.status()).toMatchObject([{ state: 'restarting', error: 'fetch failed (ECONNREFUSED)' }]);
    await server.start();
    clock.wake();
    await until(({ state }) => state === 'ready');
    expect(await servers.tools()).toHaveLength(1);
  });

  test('with an invalid URL fails alone', async () => {
    const server = await testServer();
    const { servers } = mcpFixture([{ ...at(server), name: 'nowhere', url: 'nowhere' }, at(server)]);
    expect((await servers.tools()).map(({ name }) => name)).toEqual(['mcp__web__echo']);
    expect(servers.status()).toMatchObject([{ state: 'failed', error: 'Invalid URL' }, { state: 'ready' }]);
  });

  test('can be closed while it connects', async () => {
    const server = await testServer();
    const received = new Promise<void>((resolve) => {
      server.replies.set('initialize', () => resolve());
    });
    const { servers } = mcpFixture([at(server)]);
    const tools = servers.tools();
    await received;
    await servers.close();
    expect(await tools).toEqual([]);
  });
});
