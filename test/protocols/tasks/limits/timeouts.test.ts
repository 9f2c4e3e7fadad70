import { describe, expect, it } from 'vitest';
import { selfSignedFiles } from '../certificate.ts';
import { drip, rawConnection, request, statusOf } from './connect.ts';
import { type LimitedAgent, limitedAgent } from './limited-agent.ts';

const LIMITS = 'limits: { handshake_timeout: 1s, headers_timeout: 1s, request_timeout: 1500ms }\n';
/** The first bytes of a handshake that announces more. */
const BEGINNING_OF_HELLO = Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc, 0x03, 0x03]);
/** Far above our limits, even on a busy machine, and far below those of Node.js: 120 s for a handshake, 60 s for headers. */
const PATIENCE_MS = 45_000;

/** Everything received until the agent closed the connection. */
async function endOf(closed: Promise<string>): Promise<string> {
  const late = new Promise<string>((_, reject) => {
    setTimeout(() => reject(new Error('the connection is still open')), PATIENCE_MS).unref();
  });
  return Promise.race([closed, late]);
}

/** The status of a valid request; 0 if the limits ended it, which happens on a busy machine. */
async function answerTo(agent: LimitedAgent): Promise<number> {
  return agent.get('/tasks').then(
    ({ status }) => status,
    () => 0,
  );
}

const slowBody = ({ key }: LimitedAgent): string =>
  request(
    '/submit_task',
    [`X-API-Key: ${key}`, 'Content-Type: application/json', 'Content-Length: 10000'],
    'POST',
  );

describe.each([
  ['plain HTTP', false],
  ['TLS', true],
])('a connection over %s', (_, tls) => {
  const started = () =>
    tls
      ? limitedAgent(`tls: { cert: cert.pem, key: key.pem }\n${LIMITS}`, { prepare: selfSignedFiles })
      : limitedAgent(LIMITS);

  it('ends when its client stalls: without bytes, with endless headers, with an endless body', async () => {
    const agent = await started();
    const silent = await rawConnection(agent.port, { tls });
    const headers = await rawConnection(agent.port, { tls });
    headers.socket.write('GET /tasks HTTP/1.1\r\nHost: 127.0.0.1\r\n');
    drip(headers, 'X-Slow: 1\r\n');
    const body = await rawConnection(agent.port, { tls });
    body.socket.write(slowBody(agent));
    drip(body, ' ');
    const answers = await Promise.all([silent, headers, body].map(({ closed }) => endOf(closed)));
    expect(answers.map(statusOf)).toEqual([408, 408, 408]);
    await expect.poll(() => answerTo(agent)).toBe(200);
  });
});

describe('a TLS handshake', () => {
  it('that does not start, stalls, or arrives byte by byte ends after its timeout', async () => {
    const agent = await limitedAgent(`tls: { cert: cert.pem, key: key.pem }\n${LIMITS}`, {
      prepare: selfSignedFiles,
    });
    const silent = await rawConnection(agent.port);
    const first = await rawConnection(agent.port);
    first.socket.write(BEGINNING_OF_HELLO.subarray(0, 1));
    const half = await rawConnection(agent.port);
    half.socket.write(BEGINNING_OF_HELLO);
    const dripping = await rawConnection(agent.port);
    dripping.socket.write(BEGINNING_OF_HELLO);
    drip(dripping, '\0');
    await Promise.all([silent, first, half, dripping].map(({ closed }) => endOf(closed)));
    await expect.poll(() => answerTo(agent)).toBe(200);
  });
});
