import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { agentFixture } from '../../protocols/tasks/binary.ts';
import { polypod } from '../polypod.ts';

interface ReceivedRequest {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A program on this machine that is not an agent. With `relay` it forwards everything to one. */
async function impostor(
  port = 0,
  relay?: string,
): Promise<{ readonly url: string; readonly received: ReceivedRequest[] }> {
  const received: ReceivedRequest[] = [];
  const server = createServer((incoming, response) => {
    let body = '';
    incoming.setEncoding('utf8').on('data', (piece: string) => {
      body += piece;
    });
    incoming.on('end', () => {
      const { method, url, headers } = incoming;
      received.push({ method, url, headers, body });
      if (relay === undefined) {
        response.writeHead(200, { 'content-type': 'application/json', 'x-polypod-proof': 'a'.repeat(64) });
        response.end('{"tasks":[],"taskId":"task_x","status":"accepted"}');
        return;
      }
      const { host: _, ...rest } = headers;
      request(`${relay}${url}`, { method, headers: rest }, (answer) => {
        response.writeHead(answer.statusCode ?? 500, answer.headers);
        answer.pipe(response);
      }).end(body);
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, received };
}

const keysIn = (received: readonly ReceivedRequest[]): readonly unknown[] =>
  received.flatMap(({ headers }) => headers.authorization ?? headers['x-api-key'] ?? []);

/** Many processes, one after the other, on a machine that may be busy. */
const BUSY_MS = 120_000;

describe('polypod task (built program)', () => {
  it('sends no key to a program that has replaced the agent', { timeout: BUSY_MS }, async () => {
    const fixture = await agentFixture();
    const running = await fixture.agent();
    const key = readFileSync(fixture.keyFile, 'utf8').trim();
    const { url } = fixture.record();
    expect((await fixture.polypod('task', 'list')).code).toBe(0);
    running.child.kill('SIGKILL');
    await running.finished;
    const fake = await impostor(Number(new URL(url).port));
    for (const args of [['list'], ['submit', 'A secret plan.'], ['status', 'task_x']]) {
      const { code, stderr } = await fixture.polypod('task', ...args);
      expect(code).not.toBe(0);
      expect(stderr).toContain('did not prove that it is the agent of this key, so the key was not sent');
    }
    // A key from the environment is not sent either.
    const named = await polypod(['task', 'list'], { env: { ...fixture.env, POLYPOD_API_KEY: key } });
    expect(named.code).not.toBe(0);
    expect(fake.received.length).toBeGreaterThan(0);
    expect(fake.received.every((one) => one.url === '/health' && one.body === '')).toBe(true);
    expect(keysIn(fake.received)).toEqual([]);
    expect(JSON.stringify(fake.received)).not.toContain(key.slice(-20));
  });

  it('sends no key through a program that relays to the agent', async () => {
    const fixture = await agentFixture();
    await fixture.agent();
    const fake = await impostor(0, fixture.record().url);
    const file = join(fixture.dataDirectory, 'tasks/agents/polypod.json');
    writeFileSync(file, JSON.stringify({ ...fixture.record(), url: fake.url }));
    const { code, stderr } = await fixture.polypod('task', 'list');
    expect(code).not.toBe(0);
    expect(stderr).toContain('did not prove');
    expect(fake.received.length).toBe(1);
    expect(keysIn(fake.received)).toEqual([]);
  });

  it('requires an agent or an address if none is running, and tries no default port', async () => {
    const fixture = await agentFixture();
    const env = { ...fixture.env, POLYPOD_API_KEY: 'a-key-of-somebody' };
    // If the port is in use on this machine, the test cannot see the requests to it.
    const fake = await impostor(8_000).catch(() => undefined);
    for (const args of [['list'], ['submit', 'Hello.']])
      expect(await polypod(['task', ...args], { env })).toMatchObject({
        code: 2,
        stderr: expect.stringContaining(
          'no agent is up here: start one with polypod agent start, or name another with --url',
        ),
      });
    expect(fake?.received ?? []).toEqual([]);
  });

  it('sends a key to the address that the user gave with it, and its own key only to its own agents', {
    timeout: BUSY_MS,
  }, async () => {
    const fixture = await agentFixture();
    await fixture.agent();
    const { url } = fixture.record();
    const key = readFileSync(fixture.keyFile, 'utf8').trim();
    expect((await fixture.polypod('task', 'list', '--url', url)).code).toBe(0);
    const fake = await impostor();
    await fixture.polypod('task', 'list', '--url', fake.url);
    expect(fake.received.length).toBeGreaterThan(0);
    expect(keysIn(fake.received)).toEqual([]);
    expect(JSON.stringify(fake.received)).not.toContain(key.slice(-20));
    const file = join(fixture.home, 'other.key');
    writeFileSync(file, 'the-key-of-another-agent\n');
    expect((await fixture.polypod('task', 'list', '--url', fake.url, '--key-file', file)).code).toBe(0);
    expect(keysIn(fake.received)).toEqual(['Bearer the-key-of-another-agent']);
  });
});
