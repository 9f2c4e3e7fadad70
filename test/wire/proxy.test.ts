import { describe, expect, it, test } from 'vitest';
import {
  createHttpTransport,
  fetchFrom,
  proxiesFrom,
  proxyFor,
  type Transport,
  transportFrom,
} from '../../src/wire/index.ts';
import { privateAuthority } from '../protocols/tasks/certificate.ts';
import { simStarter, thrownBy } from '../sim/sims.ts';
import { startProxy, startTlsFront } from './proxy-server.ts';

const startedSim = simStarter();
const WATCH = { signal: new AbortController().signal, onOpen: () => {} };

async function get(transport: Transport, url: string) {
  const { status, body } = await transport({ method: 'GET', url, headers: {} }, WATCH);
  let text = '';
  for await (const piece of body) text += Buffer.from(piece).toString();
  return { status, text };
}

describe('the proxy for a URL', () => {
  const env = { HTTPS_PROXY: 'http://secure:1', HTTP_PROXY: 'http://plain:2' };
  const hostFor = (url: string, more: Record<string, string> = {}) =>
    proxyFor(url, proxiesFrom({ ...env, ...more }))?.url.host;

  it.each([
    ['https://api.example.com/v1', {}, 'secure:1'],
    ['http://api.example.com/v1', {}, 'plain:2'],
    ['https://api.example.com', { https_proxy: 'http://lower:3' }, 'lower:3'],
    ['https://api.example.com', { https_proxy: '' }, 'secure:1'],
    ['https://api.example.com', { HTTPS_PROXY: 'bare.example.com:8080' }, 'bare.example.com:8080'],
    ['https://api.example.com', { NO_PROXY: '*' }, undefined],
    ['https://api.example.com', { NO_PROXY: 'example.com' }, undefined],
    ['https://api.example.com', { NO_PROXY: 'x.org, .example.com' }, undefined],
    ['https://api.example.com', { NO_PROXY: '*.example.com' }, undefined],
    ['https://API.Example.com.', { NO_PROXY: 'api.example.COM' }, undefined],
    ['https://api.example.com', { no_proxy: 'api.example.com' }, undefined],
    ['https://badexample.com', { NO_PROXY: 'example.com' }, 'secure:1'],
    ['https://api.example.com', { NO_PROXY: 'api.example.com:443' }, undefined],
    ['https://api.example.com:8443', { NO_PROXY: 'api.example.com:443' }, 'secure:1'],
    ['https://10.1.2.3', { NO_PROXY: '10.1.2.3' }, undefined],
    ['https://10.1.2.3', { NO_PROXY: '2.3' }, 'secure:1'],
    ['https://[fd00::1]:8443', { NO_PROXY: '[fd00::1]:8443' }, undefined],
    ['https://[fd00::1]', { NO_PROXY: 'fd00::1' }, undefined],
    ['http://127.0.0.1:11434', {}, undefined],
    ['http://localhost:11434', {}, undefined],
    ['http://[::1]:11434', {}, undefined],
    ['http://127.0.0.1:11434', { NO_PROXY: '<-loopback>' }, 'plain:2'],
  ])('%s with %j is %s', (url, more, host) => {
    expect(hostFor(url, more)).toBe(host);
  });

  it('is none without a variable for its protocol', () => {
    expect(proxiesFrom({ NO_PROXY: 'x' })).toBeUndefined();
    expect(proxyFor('https://example.com', proxiesFrom({ HTTP_PROXY: 'http://plain:2' }))).toBeUndefined();
  });

  it.each(['socks5://user:hunter2@host:1', 'http://us%er:hunter2@host:1', 'http://user:hunter2@:x'])(
    'is refused without its value: %s',
    (value) => {
      const proxies = proxiesFrom({ HTTPS_PROXY: value });
      expect(() => proxyFor('https://example.com', proxies)).toThrow(/HTTPS_PROXY/);
      expect(() => proxyFor('https://example.com', proxies)).not.toThrow(/hunter2/);
    },
  );
});

describe('a transport with proxies', () => {
  test('reaches https servers by CONNECT, with credentials, and keeps the tunnel for the next request', async () => {
    const authority = privateAuthority();
    const sim = await startedSim();
    const port = await startTlsFront(sim.port, authority.issue('api.example.com'));
    const proxy = await startProxy({ 'api.example.com:443': port }, { credentials: 'jo:p@ss' });
    const transport = createHttpTransport(
      { ca: authority.cert },
      proxiesFrom({ HTTPS_PROXY: proxy.url.replace('//', '//jo:p%40ss@') }),
    );
    for (let request = 0; request < 3; request += 1)
      expect(await get(transport, 'https://api.example.com/v1/models')).toMatchObject({ status: 200 });
    expect(proxy.requests).toEqual(['CONNECT api.example.com:443']);
    expect(proxy.connections()).toBe(1);
    expect(sim.requests.map(({ headers }) => headers['proxy-authorization'])).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });

  test('reaches http servers by the absolute form, and keeps the connection for the next request', async () => {
    const sim = await startedSim();
    const proxy = await startProxy({ 'models.example.com:8080': sim.port });
    const transport = transportFrom({ HTTP_PROXY: proxy.url });
    for (let request = 0; request < 2; request += 1)
      expect(await get(transport, 'http://models.example.com:8080/v1/models?a=b')).toMatchObject({
        status: 200,
      });
    expect(proxy.requests).toEqual([
      'GET http://models.example.com:8080/v1/models?a=b',
      'GET http://models.example.com:8080/v1/models?a=b',
    ]);
    expect(proxy.connections()).toBe(1);
    expect(sim.requests[0]?.headers.host).toBe('models.example.com:8080');
  });

  test('sends requests to loopback directly', async () => {
    const sim = await startedSim();
    const proxy = await startProxy({});
    await get(transportFrom({ HTTP_PROXY: proxy.url }), `${sim.url}/v1/models`);
    expect(proxy.requests).toEqual([]);
  });

  test.each([
    ['https://api.example.com/', 'HTTPS_PROXY'],
    ['http://api.example.com/', 'HTTP_PROXY'],
  ])('reports a proxy that rejects the credentials, without them: %s', async (url, variable) => {
    const proxy = await startProxy({}, { credentials: 'jo:right' });
    const value = proxy.url.replace('//', '//jo:hunter2@');
    const thrown = await thrownBy(get(transportFrom({ [variable]: value }), url));
    const text = `the proxy ${proxy.url} (${variable}) requires a user name and password, or rejects these`;
    expect(String(thrown)).toContain(text);
    expect(String(thrown)).not.toMatch(/hunter2/);
    expect(thrown).toMatchObject({ code: 'ERR_PROXY_REFUSED' });
  });

  test.each([
    [403, 'ERR_PROXY_REFUSED'],
    [503, 'ERR_PROXY_FAILED'],
  ])('reports a proxy that refuses to connect with %s', async (status, code) => {
    const proxy = await startProxy({}, { refuseWith: status });
    const thrown = await thrownBy(get(transportFrom({ HTTPS_PROXY: proxy.url }), 'https://api.example.com/'));
    expect(String(thrown)).toContain(`refused to connect to api.example.com:443 (HTTP ${status})`);
    expect(thrown).toMatchObject({ code });
  });

  test.each(['https', 'http'])('names a proxy that cannot be reached for %s', async (protocol) => {
    const proxies = {
      HTTPS_PROXY: 'http://jo:hunter2@127.0.0.1:9',
      HTTP_PROXY: 'http://jo:hunter2@127.0.0.1:9',
    };
    const thrown = await thrownBy(get(transportFrom(proxies), `${protocol}://api.example.com/`));
    expect(String(thrown)).toContain('the proxy http://127.0.0.1:9 (');
    expect(String(thrown)).toContain('cannot be reached: connect ECONNREFUSED');
    expect(String(thrown)).not.toContain('hunter2');
  });

  test('gives up a tunnel that is not answered when the request is aborted', async () => {
    const proxy = await startProxy({}, { isSilent: true });
    const abort = new AbortController();
    const request = { method: 'GET', url: 'https://api.example.com/', headers: {} } as const;
    const sent = transportFrom({ HTTPS_PROXY: proxy.url })(request, { ...WATCH, signal: abort.signal });
    await expect.poll(() => proxy.requests).toHaveLength(1);
    abort.abort();
    expect(await thrownBy(sent)).toMatchObject({ name: 'AbortError' });
  });
});

describe('fetch with proxies', () => {
  test('is undefined without a proxy', () => {
    expect(fetchFrom({})).toBeUndefined();
  });

  test('sends requests through the proxy', async () => {
    const sim = await startedSim();
    const proxy = await startProxy({ 'mcp.example.com:80': sim.port });
    const proxied = fetchFrom({ HTTP_PROXY: proxy.url });
    const response = await proxied?.('http://mcp.example.com/v1/models', { headers: { accept: 'x/y' } });
    expect(response?.status).toBe(200);
    expect(await response?.json()).toMatchObject({ object: 'list' });
    expect(sim.requests[0]?.headers.accept).toBe('x/y');
  });
});
