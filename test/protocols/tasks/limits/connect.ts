import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { onTestFinished } from 'vitest';

/** A connection of a client that follows no rules. */
export interface RawConnection {
  readonly socket: Socket;
  /** Resolves with the received text when the connection is closed. */
  readonly closed: Promise<string>;
}

/** Connects; with `tls` after a complete handshake. Resolves when bytes can be sent. */
export async function rawConnection(port: number, { tls = false } = {}): Promise<RawConnection> {
  const socket = tls
    ? connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false })
    : connect(port, '127.0.0.1');
  onTestFinished(() => {
    socket.destroy();
  });
  let received = '';
  socket.setEncoding('utf8').on('data', (text: string) => (received += text));
  socket.on('error', () => {});
  const closed = new Promise<string>((resolve) => {
    socket.on('close', () => resolve(received));
  });
  await Promise.race([
    closed,
    new Promise((resolve) => {
      socket.on(tls ? 'secureConnect' : 'connect', resolve);
    }),
  ]);
  return { socket, closed };
}

/** Sends raw bytes, and returns everything received until the connection is closed. */
export async function exchange(port: number, bytes: string): Promise<string> {
  const { socket, closed } = await rawConnection(port);
  socket.write(bytes);
  return closed;
}

/** Sends the text byte by byte, repeatedly, until the connection is closed. */
export function drip({ socket }: RawConnection, text: string): void {
  let at = 0;
  const timer = setInterval(() => {
    socket.write(text[at % text.length] ?? '');
    at += 1;
  }, 20);
  socket.on('close', () => clearInterval(timer));
}

/** A request without a body; the connection is closed after its response. */
export function request(target: string, headers: readonly string[] = [], method = 'GET'): string {
  const all = ['Host: 127.0.0.1', 'Connection: close', ...headers];
  return `${method} ${target} HTTP/1.1\r\n${all.join('\r\n')}\r\n\r\n`;
}

export function statusOf(answer: string): number {
  return Number(/^HTTP\/1\.1 (\d{3}) /.exec(answer)?.[1] ?? 0);
}
