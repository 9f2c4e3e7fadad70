import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startSim } from '../../../src/sim/index.ts';
import { privateAuthority } from '../../protocols/tasks/certificate.ts';
import { startProxy, startTlsFront } from '../../wire/proxy-server.ts';
import { polypod, temporaryDirectory } from '../polypod.ts';

const KEY = 'sk-test-0123456789abcdefghij';
const HOST = 'api.company.test';

/** A provider with a certificate of a private authority, which only a proxy can reach. */
async function companyNetwork(credentials = 'jo:hunter2') {
  const home = temporaryDirectory();
  const authority = privateAuthority();
  const sim = await startSim({ script: () => ({ parts: [{ text: 'Hello from behind the proxy.' }] }) });
  onTestFinished(() => sim.close());
  const port = await startTlsFront(sim.port, authority.issue(HOST));
  const proxy = await startProxy({ [`${HOST}:443`]: port, [`${HOST}:80`]: sim.port }, { credentials });
  const ca = join(home, 'company.pem');
  writeFileSync(ca, authority.cert);
  const value = proxy.url.replace('//', '//jo:hunter2@');
  const env = {
    HOME: home,
    ANTHROPIC_BASE_URL: `https://${HOST}`,
    ANTHROPIC_API_KEY: KEY,
    HTTPS_PROXY: value,
    HTTP_PROXY: value,
  };
  return { sim, proxy, port, home, env, trusted: { ...env, NODE_EXTRA_CA_CERTS: ca } };
}

describe('polypod behind a company proxy', () => {
  it('reaches a provider by CONNECT and trusts the authority in NODE_EXTRA_CA_CERTS', async () => {
    const { proxy, trusted } = await companyNetwork();
    const { code, stdout, stderr } = await polypod(['ask', 'Hi'], { env: trusted });
    expect({ code, stdout, stderr }).toEqual({
      code: 0,
      stdout: 'Hello from behind the proxy.\n',
      stderr: '',
    });
    expect(proxy.requests).toEqual([`CONNECT ${HOST}:443`]);
  });

  it('reports an unknown authority once, with the next step, and does not retry', async () => {
    const { proxy, env } = await companyNetwork();
    const { code, stderr } = await polypod(['ask', 'Hi'], { env });
    expect(code).toBe(3);
    expect(stderr).toContain('set NODE_EXTRA_CA_CERTS to its PEM file');
    expect(stderr).not.toMatch(/retry/i);
    expect(proxy.requests).toHaveLength(1);
  });

  it('reports rejected credentials of the proxy without them, and does not retry', async () => {
    const { proxy, trusted } = await companyNetwork('jo:other');
    const { code, stderr } = await polypod(['ask', 'Hi'], { env: trusted });
    expect(code).toBe(3);
    expect(stderr).toContain(
      `the proxy ${proxy.url} (HTTPS_PROXY) requires a user name and password, or rejects these`,
    );
    expect(stderr).not.toContain('hunter2');
    expect(proxy.requests).toHaveLength(1);
  });

  it('does not use the proxy for hosts in NO_PROXY and for this machine', async () => {
    const { proxy, sim, trusted } = await companyNetwork();
    const direct = { ...trusted, ANTHROPIC_BASE_URL: sim.url };
    expect(await polypod(['ask', 'Hi'], { env: direct })).toMatchObject({ code: 0 });
    const bypassed = await polypod(['ask', 'Hi'], { env: { ...trusted, NO_PROXY: '.company.test' } });
    expect(bypassed.code).toBe(3);
    expect(proxy.requests).toEqual([]);
  });

  it('downloads the model list through the proxy', async () => {
    const { proxy, trusted } = await companyNetwork();
    const { code, stderr } = await polypod(['models', 'refresh', '--url', `https://${HOST}/v1/models`], {
      env: trusted,
    });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(proxy.requests).toEqual([`CONNECT ${HOST}:443`]);
  });

  it('connects to MCP servers through the proxy', async () => {
    const { home, env } = await companyNetwork();
    const server = createServer((request, response) => {
      let body = '';
      request.on('data', (piece: Buffer) => (body += piece.toString()));
      request.on('end', () => {
        const { id, method, params } = JSON.parse(body || '{}') as {
          id?: number;
          method?: string;
          params?: { protocolVersion?: string };
        };
        const serverInfo = { name: 'wiki', version: '1' };
        const results: Record<string, object> = {
          initialize: { protocolVersion: params?.protocolVersion, capabilities: { tools: {} }, serverInfo },
          'tools/list': { tools: [{ name: 'echo', inputSchema: { type: 'object' } }] },
        };
        const result = results[method ?? ''];
        if (result === undefined) response.writeHead(method === undefined ? 405 : 202).end();
        else
          response
            .setHeader('content-type', 'application/json')
            .end(JSON.stringify({ jsonrpc: '2.0', id, result }));
      });
    });
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    const proxy = await startProxy({ 'mcp.example.com:80': (server.address() as AddressInfo).port });
    mkdirSync(join(home, '.config/polypod'), { recursive: true });
    writeFileSync(
      join(home, '.config/polypod/config.yaml'),
      'version: 1\nmcp_servers:\n  wiki: { url: "http://mcp.example.com/mcp" }\n',
    );
    const { code, stdout } = await polypod(['mcp', 'status'], { env: { ...env, HTTP_PROXY: proxy.url } });
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'wiki  ready  1 tools\n  mcp__wiki__echo\n' });
    expect(proxy.requests[0]).toBe('POST http://mcp.example.com/mcp');
  });
});
