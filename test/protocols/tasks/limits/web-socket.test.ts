import { describe, expect, it } from 'vitest';
import { clientFrame, type SocketClient } from '../../../wire/web-socket-client.ts';
import { limitedAgent, MEGABYTE } from './limited-agent.ts';

/** The variation of live memory in an agent that holds nothing for its clients. */
const MARGIN = 20 * MEGABYTE;

/** Writes the same bytes repeatedly until the other side closes or all are sent. */
async function flood({ socket, closed }: SocketClient, bytes: Buffer, times: number): Promise<void> {
  for (let count = 0; count < times && !socket.destroyed; count += 1) {
    const sent = new Promise<void>((resolve) => {
      socket.write(bytes, () => resolve());
    });
    await Promise.race([sent, closed]);
  }
}

/** This many frames in one write. */
const many = (count: number, frame: Buffer): Buffer => Buffer.concat(Array<Buffer>(count).fill(frame));

describe('a WebSocket of the built program', () => {
  it('is closed for a message of endless empty continuation frames, without using memory for them', async () => {
    const agent = await limitedAgent('');
    const before = await agent.usage();
    const client = await agent.socket();
    client.socket.write(clientFrame(1, 'x', { isLast: false }));
    await flood(client, many(10_000, clientFrame(0, '', { isLast: false })), 200);
    await client.closed;
    expect(client.closeCode).toBe(1008);
    expect(client.closeReason).toContain('frames');
    const { live } = await agent.usage();
    expect(live - before.live).toBeLessThan(MARGIN);
    expect((await agent.fixture.client().get('/health')).status).toBe(200);
  });

  it('is closed for a flood of pings whose answers are not read, without using memory for them', async () => {
    const agent = await limitedAgent('');
    const before = await agent.usage();
    const pings = many(1_000, clientFrame(9, 'x'.repeat(125)));
    const client = await agent.socket();
    client.socket.pause();
    await flood(client, pings, 200);
    // A client that reads again soon enough receives the reason.
    client.socket.resume();
    await client.closed;
    expect(client.closeCode).toBe(1008);
    const silent = await agent.socket();
    silent.socket.pause();
    await flood(silent, pings, 200);
    const { live } = await agent.usage();
    expect(live - before.live).toBeLessThan(MARGIN);
  });

  it('uses no more memory for unfinished frames of many connections than was sent, and ends them', async () => {
    const agent = await limitedAgent('limits: { request_timeout: 3s, headers_timeout: 1s }');
    const before = await agent.usage();
    const clients = await Promise.all(Array.from({ length: 20 }, () => agent.socket()));
    for (const { socket } of clients) socket.setNoDelay(true);
    // The header announces 1,000,000 bytes; they arrive in pieces of 100.
    for (const { socket } of clients) socket.write(clientFrame(1, '', { size: 1_000_000 }));
    for (let piece = 0; piece < 500; piece += 1)
      for (const { socket } of clients) socket.write(Buffer.alloc(100, 1));
    await Promise.all(clients.map(({ closed }) => closed));
    expect(new Set(clients.map(({ closeCode }) => closeCode))).toEqual(new Set([1008]));
    expect(clients[0]?.closeReason).toContain('took too long');
    const after = await agent.usage();
    expect(after.live - before.live).toBeLessThan(MARGIN);
  });

  it('answers messages beyond the rate of the key with rate_limited, then closes with 1008', async () => {
    const agent = await limitedAgent('limits: { requests_per_minute: 1, burst: 10 }');
    const client = await agent.socket();
    for (let count = 0; count < 300; count += 1) client.send({ method: 'status', request_id: count });
    await client.closed;
    const codes = client.texts.map((text) => (JSON.parse(text) as { data: { code: string } }).data.code);
    // One of the ten was the handshake.
    expect(codes.slice(0, 9)).toEqual(Array(9).fill('invalid_request'));
    expect(codes.slice(9)).toEqual(Array(100).fill('rate_limited'));
    expect([client.closeCode, client.closeReason]).toEqual([
      1008,
      expect.stringContaining('too many requests with this key: try again in'),
    ]);
  });
});
