import { onTestFinished, describe, expect, it } from 'vitest';
import { serveHttp, type WebSocketLimits, WebSocketLink, webSocketHandshake } from '../../src/wire/index.ts';
import { FrameReader } from '../../src/wire/web-socket/frames.ts';
import { clientFrame, SocketClient } from './web-socket-client.ts';

/** A server that echoes everything. */
async function echo(limits: Partial<WebSocketLimits> = {}): Promise<string> {
  const server = await serveHttp({
    host: '127.0.0.1',
    port: 0,
    handle: async ({ response }) => {
      response.end();
    },
    upgrade: async ({ request, socket, head }) => {
      socket.write(webSocketHandshake(request.headers, undefined));
      const link: WebSocketLink = new WebSocketLink(socket, head, {
        onText: (text) => link.send(text),
        onClose: () => {},
        limits,
      });
    },
  });
  onTestFinished(() => server.close());
  return server.url;
}

async function client(limits?: Partial<WebSocketLimits>): Promise<SocketClient> {
  const opened = new SocketClient(await echo(limits));
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

describe('the frame reader', () => {
  it('reads a frame of one mebibyte byte by byte in linear time', () => {
    const reader = new FrameReader(1024 * 1024);
    const bytes = clientFrame(1, 'x'.repeat(1024 * 1024));
    let frames = 0;
    for (let at = 0; at < bytes.length; at += 1) frames += reader.push(bytes.subarray(at, at + 1)).length;
    expect(frames).toBe(1);
    expect(reader.isInFrame).toBe(false);
  });
});

describe('a web socket whose client does not read', () => {
  it('answers only the latest ping', async () => {
    const frames = { perMinute: 1_000_000, burst: 1_000_000 };
    const server = await serveHttp({
      host: '127.0.0.1',
      port: 0,
      handle: async ({ response }) => {
        response.end();
      },
      upgrade: async ({ request, socket, head }) => {
        socket.write(webSocketHandshake(request.headers, undefined));
        links.push(
          new WebSocketLink(socket, head, { onText: finish, onClose: () => {}, limits: { frames } }),
        );
      },
    });
    onTestFinished(() => server.close());
    const links: WebSocketLink[] = [];
    let finish = (): void => {};
    const allRead = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const client = new SocketClient(server.url);
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
