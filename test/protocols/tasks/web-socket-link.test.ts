import { onTestFinished, describe, expect, it } from 'vitest';
import type { WebSocketLimits } from '../../../src/protocols/tasks/settings.ts';
import { type WebSocketLink, webSockets } from '../../../src/protocols/tasks/stream/web-socket-link.ts';
import { serveHttp } from '../../../src/wire/index.ts';
import { clientFrame, SocketClient } from '../../wire/web-socket-client.ts';

interface Served {
  readonly url: string;
  readonly links: readonly WebSocketLink[];
}

/** A server of WebSockets. */
async function serve(
  onText: (text: string, link: WebSocketLink) => void,
  limits: Partial<WebSocketLimits> = {},
): Promise<Served> {
  const links: WebSocketLink[] = [];
  const accept = webSockets(limits);
  const server = await serveHttp({
    host: '127.0.0.1',
    port: 0,
    handle: (_, response) => void response.end(),
    upgrade: (request, socket, head) =>
      accept(request, socket, head, (connect) => {
        const link: WebSocketLink = connect({ onText: (text) => onText(text, link), onClose: () => {} });
        links.push(link);
      }),
  });
  onTestFinished(() => server.close());
  return { url: server.url, links };
}

async function client(limits?: Partial<WebSocketLimits>): Promise<SocketClient> {
  const { url } = await serve((text, link) => link.send(text), limits);
  const opened = new SocketClient(url);
  await opened.upgraded();
  return opened;
}

describe('a web socket', () => {
  it('completes the handshake of RFC 6455', async () => {
    const link = await client();
    expect(link.answer).toContain(`Sec-WebSocket-Accept: ${link.expectedAccept}`);
  });

  it.each([0, 1, 125, 126, 127, 65_535, 65_536, 200_000])('transports a text of %i bytes', async (size) => {
    const link = await client();
    link.send('x'.repeat(size));
    expect(await link.until(() => link.texts[0])).toBe('x'.repeat(size));
  });

  it('transports fragmented texts with interleaved pings, in any chunking', async () => {
    const link = await client();
    const bytes = Buffer.concat([
      clientFrame(1, Buffer.from('こん').subarray(0, 4), { isLast: false }),
      clientFrame(9, 'there?'),
      clientFrame(0, Buffer.concat([Buffer.from('こん').subarray(4), Buffer.from('にちは')])),
      clientFrame(1, 'next'),
    ]);
    for (const byte of bytes) link.socket.write(Buffer.from([byte]));
    await link.until(() => link.texts[1]);
    expect(link.texts).toEqual(['こんにちは', 'next']);
    expect(link.pongs).toEqual(['there?']);
  });

  it.each([
    ['unmasked frames', clientFrame(1, 'x', { isMasked: false }), 1002],
    ['reserved bits', clientFrame(1, 'x', { reserved: 0x40 }), 1002],
    ['unknown opcodes', clientFrame(3, 'x'), 1002],
    ['long control frames', clientFrame(9, 'x'.repeat(126)), 1002],
    ['control frames in pieces', clientFrame(9, 'x', { isLast: false }), 1002],
    ['a continuation of nothing', clientFrame(0, 'x'), 1002],
    [
      'a text inside a text',
      Buffer.concat([clientFrame(1, 'x', { isLast: false }), clientFrame(1, 'y')]),
      1002,
    ],
    ['bad UTF-8', clientFrame(1, new Uint8Array([0xff])), 1007],
    ['binary', clientFrame(2, 'x'), 1003],
    ['a frame that is too large', clientFrame(1, 'x', { size: 2_000_000 }), 1009],
    [
      'a message that is too large',
      Buffer.concat([
        clientFrame(1, 'x'.repeat(800_000), { isLast: false }),
        clientFrame(0, 'x'.repeat(800_000)),
      ]),
      1009,
    ],
  ])('is closed for %s', async (_, bytes, code) => {
    const link = await client();
    link.socket.write(bytes);
    await link.closed;
    expect(link.closeCode).toBe(code);
  });

  it('closes on request with the same code', async () => {
    const link = await client();
    link.socket.write(clientFrame(8, Buffer.from([0x03, 0xe9])));
    await link.closed;
    expect(link.closeCode).toBe(1001);
  });

  it('closes if the peer does not answer pings', async () => {
    const link = await client({ pingMs: 20 });
    link.socket.pause();
    link.socket.removeAllListeners('data');
    link.socket.resume();
    await link.closed;
    expect(link.closeCode).toBeUndefined();
  });
});

describe('a message', () => {
  it('of one mebibyte can arrive byte by byte', async () => {
    const link = await client();
    link.socket.setNoDelay(true);
    const bytes = clientFrame(1, 'x'.repeat(1024 * 1024));
    // The kernel joins most of the pieces.
    for (let at = 0; at < bytes.length; at += 64) link.socket.write(bytes.subarray(at, at + 64));
    expect((await link.until(() => link.texts[0])).length).toBe(1024 * 1024);
  });

  it('that is not complete in time closes the connection, also between its fragments and after a complete one', async () => {
    for (const bytes of [
      clientFrame(1, 'unfinished', { isLast: false }),
      Buffer.concat([clientFrame(1, 'complete'), clientFrame(1, 'x', { size: 100 })]),
      clientFrame(1, 'x').subarray(0, 1),
      clientFrame(1, 'x').subarray(0, 2),
      clientFrame(1, 'x').subarray(0, 6),
    ]) {
      const link = await client({ messageMs: 50 });
      link.socket.write(bytes);
      await link.closed;
      expect([link.closeCode, link.closeReason]).toEqual([1008, 'a message took too long to arrive']);
    }
  });
});

describe('a web socket whose client does not read', () => {
  it('answers only the latest ping', async () => {
    const frames = { perMinute: 1_000_000, burst: 1_000_000 };
    let finish = (): void => {};
    const allRead = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const { url, links } = await serve(() => finish(), { frames });
    const client = new SocketClient(url);
    await client.upgraded();
    client.socket.pause();
    const pings = Buffer.concat(Array.from({ length: 1_000 }, () => clientFrame(9, 'x'.repeat(125))));
    // Far more than the system's buffers hold.
    for (let count = 0; count < 200; count += 1) client.socket.write(pings);
    client.send('that was all');
    await allRead;
    expect(links[0]?.pending).toBeLessThan(200_000);
  });
});
