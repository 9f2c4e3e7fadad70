import { createServer } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished } from 'vitest';
import { judge, ruleFor, type ToolContext, webFetchTool } from '../../src/tools/index.ts';
import { isPrivateAddress } from '../../src/tools/web/private-address.ts';
import { htmlText } from '../../src/tools/web/html-text.ts';
import { refusePrivateTarget } from '../../src/tools/web/private-host.ts';
import { proxiedTransport } from '../../src/wire/index.ts';
import { thrownBy } from '../sim/sims.ts';
import { startProxy } from '../wire/proxy-server.ts';

interface Reply {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

/** A web server with these pages; returns its address. */
async function site(pages: Readonly<Record<string, Reply>>): Promise<string> {
  const server = createServer((request, response) => {
    const {
      status = 200,
      headers = { 'content-type': 'text/plain' },
      body = '',
    } = pages[request.url ?? ''] ?? { status: 404, body: 'not here' };
    response.writeHead(status, headers).end(body);
  });
  await new Promise<void>((settle) => server.listen(0, '127.0.0.1', settle));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function fetchPage(
  url: string,
  args: object = {},
  privateHosts: readonly string[] = ['127.0.0.1'],
  env: Readonly<Record<string, string>> = {},
) {
  const tool = webFetchTool({ privateHosts: () => privateHosts, proxied: proxiedTransport(env) });
  const prepared = tool.prepare({ url, ...args }, '/');
  if ('invalid' in prepared) throw new Error(prepared.invalid);
  const context = {} as ToolContext;
  const { content, isError } = await prepared.run(context, new AbortController().signal);
  const [first] = content;
  return { isError, text: first?.type === 'text' ? first.text : '' };
}

describe('web_fetch', () => {
  it('returns the text of a page, in parts', async () => {
    const url = await site({
      '/': {
        headers: { 'content-type': 'text/html; charset=utf-8' },
        body: '<title>Doors</title><script>evil()</script><h1>A &amp; B</h1><ul><li>one<li>two</ul>',
      },
      '/long': { body: `${'x'.repeat(30_000)}end` },
    });
    expect(await fetchPage(`${url}/`)).toEqual({
      isError: false,
      text: `${url}/ (HTTP 200)\n\nDoors\n\n# A & B\n\n- one\n- two`,
    });
    expect((await fetchPage(`${url}/long`)).text).toContain(
      '[3 more characters: call again with offset 30000]',
    );
    expect((await fetchPage(`${url}/long`, { offset: 30_000 })).text).toBe(`${url}/long (HTTP 200)\n\nend`);
  });

  it('reports errors and other content than text', async () => {
    const url = await site({ '/image': { headers: { 'content-type': 'image/png' }, body: 'x' } });
    expect(await fetchPage(`${url}/missing`)).toMatchObject({ isError: true });
    expect((await fetchPage(`${url}/image`)).text).toContain('is not text, but image/png');
  });

  it('follows redirects on the same host only', async () => {
    const url = await site({
      '/a': { status: 302, headers: { location: '/b' } },
      '/b': { body: 'arrived' },
      '/away': { status: 302, headers: { location: 'http://elsewhere.example/x' } },
      '/file': { status: 302, headers: { location: 'file:///etc/passwd' } },
      '/loop': { status: 302, headers: { location: '/loop' } },
    });
    expect((await fetchPage(`${url}/a`)).text).toContain('/b (HTTP 200)\n\narrived');
    expect((await fetchPage(`${url}/away`)).text).toContain(
      'redirects to another host: http://elsewhere.example/x',
    );
    expect((await fetchPage(`${url}/file`)).text).toContain('neither http nor https');
    expect((await fetchPage(`${url}/loop`)).text).toContain('redirects more than 5 times');
  });

  it('reads at most 4 MB', async () => {
    const url = await site({ '/': { body: Buffer.alloc(6_000_000, 'a') } });
    const { text } = await fetchPage(`${url}/`, { offset: 4_194_300 });
    expect(text).toContain('aaaa\n\n[the page is longer, but only its first 4 MB are read]');
  });

  it.each([
    ['gzip', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
  ])('reads a page that is compressed with %s without being asked', async (encoding, compress) => {
    const headers = { 'content-type': 'text/plain', 'content-encoding': encoding };
    const url = await site({
      '/': { headers, body: compress('unpacked') },
      '/bomb': { headers, body: compress(Buffer.alloc(20_000_000, 'a')) },
      '/broken': { headers, body: 'not compressed' },
    });
    expect((await fetchPage(`${url}/`)).text).toContain('\n\nunpacked');
    expect((await fetchPage(`${url}/bomb`, { offset: 4_194_300 })).text).toContain(
      'aaaa\n\n[the page is longer',
    );
    expect(await fetchPage(`${url}/broken`)).toMatchObject({ isError: true });
  });

  it('reports a server that switches to another protocol', async () => {
    const server = createTcpServer((socket) => {
      socket.on('error', () => {});
      socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n');
    });
    await new Promise<void>((settle) => server.listen(0, '127.0.0.1', settle));
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    expect((await fetchPage(`http://127.0.0.1:${port}/`)).text).toContain(
      'closed the connection without a page',
    );
  });

  it('rejects private addresses, also by name, unless the host is configured', async () => {
    const url = await site({ '/': { body: 'secret' } });
    const { port } = new URL(url);
    for (const host of ['127.0.0.1', 'localhost', '[::1]', '[::ffff:127.0.0.1]', '2130706433', '0x7f.1']) {
      const { isError, text } = await fetchPage(`http://${host}:${port}/`, {}, []);
      expect({ host, isError }).toEqual({ host, isError: true });
      expect(text).toContain('permissions.private_hosts');
      expect(text).not.toContain('secret');
    }
    expect((await fetchPage(`http://localhost:${port}/`, {}, ['localhost'])).text).toContain('secret');
  });

  it.each(['ftp://host/x', 'file:///etc/passwd', 'http://user:pass@host/', 'host/x', 'javascript:1'])(
    'rejects the address %s',
    (url) => {
      expect(webFetchTool({ privateHosts: () => [] }).prepare({ url }, '/')).toHaveProperty('invalid');
    },
  );
});

describe('web_fetch behind a proxy', () => {
  async function companyNetwork(pages: Readonly<Record<string, Reply>>) {
    const { port } = new URL(await site(pages));
    const targets = { 'docs.company.test:80': Number(port), 'wiki.internal:80': Number(port) };
    const proxy = await startProxy(targets, { credentials: 'jo:hunter2' });
    const HTTP_PROXY = proxy.url.replace('//', '//jo:hunter2@');
    return { proxy, port, env: { HTTP_PROXY, HTTPS_PROXY: HTTP_PROXY } };
  }

  it('gets pages through the proxy, follows redirects, and reads a part of long ones', async () => {
    const { proxy, env } = await companyNetwork({
      '/': { status: 302, headers: { location: '/page' } },
      '/page': { body: 'from the network' },
      '/long': { body: Buffer.alloc(6_000_000, 'a') },
    });
    const page = await fetchPage('http://docs.company.test/', {}, [], env);
    expect(page).toEqual({
      isError: false,
      text: 'http://docs.company.test/page (HTTP 200)\n\nfrom the network',
    });
    const long = await fetchPage('http://docs.company.test/long', { offset: 4_194_300 }, [], env);
    expect(long.text).toContain('[the page is longer, but only its first 4 MB are read]');
    expect(proxy.requests).toEqual([
      'GET http://docs.company.test/',
      'GET http://docs.company.test/page',
      'GET http://docs.company.test/long',
    ]);
  });

  it('does not let the proxy connect to private addresses and names, unless the host is configured', async () => {
    const { proxy, port, env } = await companyNetwork({ '/': { body: 'secret' } });
    const everything = { ...env, NO_PROXY: '<-loopback>' };
    const hosts = ['10.1.2.3', '169.254.169.254', '[fd00::1]', '2130706433', `127.0.0.1:${port}`];
    for (const host of [...hosts, 'localhost', 'intranet', 'metadata.google.internal', 'printer.local.']) {
      const { isError, text } = await fetchPage(`http://${host}/`, {}, [], everything);
      expect({ host, isError }).toEqual({ host, isError: true });
      expect(text).toContain('permissions.private_hosts');
    }
    expect(proxy.requests).toEqual([]);
    const allowed = await fetchPage('http://wiki.internal/', {}, ['wiki.internal'], env);
    expect(allowed.text).toContain('secret');
  });

  it('connects to hosts in NO_PROXY directly, with the check of the address', async () => {
    const { proxy, port, env } = await companyNetwork({ '/': { body: 'secret' } });
    const direct = { ...env, NO_PROXY: 'localhost' };
    const { text } = await fetchPage(`http://localhost:${port}/`, {}, [], direct);
    expect(text).toContain('permissions.private_hosts');
    expect(proxy.requests).toEqual([]);
  });

  it('reports a refusal of the proxy without its password', async () => {
    const { env } = await companyNetwork({});
    const { isError, text } = await fetchPage('https://elsewhere.test/', {}, [], env);
    expect(isError).toBe(true);
    expect(text).toContain('refused to connect to elsewhere.test:443');
    expect(text).not.toContain('hunter2');
  });

  it('refuses a name that resolves to a private address here, and accepts one that does not resolve', async () => {
    const looked = (addresses: readonly string[]) => async () => addresses.map((address) => ({ address }));
    const refused = await thrownBy(refusePrivateTarget('a.test', looked(['8.8.8.8', '10.0.0.1'])));
    expect(String(refused)).toContain('a.test has the address 10.0.0.1, in a private network');
    await refusePrivateTarget('a.test', looked(['8.8.8.8']));
    await refusePrivateTarget('a.test', () => Promise.reject(new Error('ENOTFOUND')));
  });
});

describe('the policy of web requests', () => {
  const scope = { read: [], write: [] };
  const policy = (rules: Parameters<typeof judge>[1]['rules'] = [], mode = 'workspace-write' as const) => ({
    mode,
    rules,
    scope,
    sandboxed: false,
    protectedPaths: [],
  });
  const request = (host: string) => ({ tool: 'web_fetch', access: [{ type: 'web', host } as const] });

  it.each([
    ['docs.example.com', 'docs.example.com', 'allow'],
    ['docs.example.com', '*.example.com', 'allow'],
    ['example.com', '*.example.com', 'ask'],
    ['evilexample.com', '*.example.com', 'ask'],
    ['docs.example.com.evil.org', 'docs.example.com', 'ask'],
  ])('%s with a rule for %s: %s', (host, pattern, decision) => {
    expect(judge(request(host), policy([{ host: pattern, action: 'auto' }])).decision).toBe(decision);
  });

  it('asks without a rule, and "always" allows the host', () => {
    expect(judge(request('example.com'), policy()).decision).toBe('ask');
    expect(ruleFor(request('example.com'), policy())).toEqual({
      tool: 'web_fetch',
      host: 'example.com',
      action: 'auto',
    });
  });

  it('denies what a rule denies', () => {
    const rules = [{ host: '*.example.com', action: 'deny' } as const];
    expect(judge(request('a.example.com'), policy(rules)).decision).toBe('deny');
  });
});

it.each([
  ['127.0.0.1', true],
  ['10.1.2.3', true],
  ['169.254.169.254', true],
  ['::ffff:127.0.0.1', true],
  ['64:ff9b::7f00:1', true],
  ['fe80::1%eth0', true],
  ['fd00::1', true],
  ['::ffff:0:7f00:1', true],
  ['168.63.129.16', true],
  ['no address', true],
  ['8.8.8.8', false],
  ['2606:4700::1111', false],
])('%s is private: %s', (address, isPrivate) => {
  expect(isPrivateAddress(address)).toBe(isPrivate);
});

it.each([
  ['<p>a<br>b</p>', 'a\nb'],
  ['a < b &#x41;&#66;&unknown;', 'a < b AB&unknown;'],
  ['x<!-- <p>hidden -->y<style>p{}</style>z', 'xyz'],
  ['<script>never closed', ''],
  ['<html><head><title>T</title><body><p>no end of the head', 'T\n\nno end of the head'],
  ['<p>İİİİİİİİ</p><script>hidden()</script><p>shown', 'İİİİİİİİ\n\nshown'],
  ['<p>a  b<pre>def f():\n    return  1\n\tx</pre>  c', 'a b\ndef f():\n    return  1\n\tx\nc'],
  ['<', '<'],
])('the text of %j is %j', (html, text) => {
  expect(htmlText(html)).toBe(text);
});
