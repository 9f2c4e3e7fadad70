import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import type { Duplex, Readable, Writable } from 'node:stream';

/** A client of a door: sends any bytes, and returns received messages one by one. */
export interface Connection {
  readonly isClosed: boolean;
  /** Resolves when more can be written, or when the connection has closed. */
  send(bytes: Uint8Array): Promise<void>;
  /** Encodes one message. */
  frame(payload: Uint8Array): Uint8Array;
  onMessage: (text: string) => void;
  onClose: () => void;
  /** Received bytes that are not a complete message yet. */
  rest(): string;
  end(): void;
  destroy(): void;
}

const NEWLINE = Buffer.from('\n');

/** JSON lines over a socket, or over the pipes of a process. */
export class LineConnection implements Connection {
  isClosed = false;
  onMessage: (text: string) => void = () => {};
  onClose = (): void => {};
  readonly #output: Writable;
  readonly #stop: () => void;
  #rest = '';

  static async unix(path: string): Promise<LineConnection> {
    const socket = connect({ path });
    await once(socket, 'connect');
    return new LineConnection(socket, socket, () => socket.destroy());
  }

  static process(
    program: string,
    args: readonly string[],
    env: NodeJS.ProcessEnv,
    cwd: string,
  ): LineConnection {
    const child = spawn(program, args, { env, cwd, stdio: ['pipe', 'pipe', 'ignore'] });
    return new LineConnection(child.stdout, child.stdin, () => child.kill('SIGKILL'));
  }

  constructor(input: Readable, output: Writable, stop: () => void) {
    this.#output = output;
    this.#stop = stop;
    input.setEncoding('utf8');
    for (const stream of new Set<Readable | Writable>([input, output])) stream.on('error', () => {});
    input.on('data', (text: string) => {
      const lines = text.split('\n');
      lines[0] = this.#rest + (lines[0] ?? '');
      this.#rest = lines.pop() ?? '';
      for (const line of lines) this.onMessage(line);
    });
    input.on('close', () => {
      this.isClosed = true;
      this.onClose();
    });
  }

  async send(bytes: Uint8Array): Promise<void> {
    await written(this.#output, bytes);
  }

  frame(payload: Uint8Array): Uint8Array {
    return Buffer.concat([payload, NEWLINE]);
  }

  rest(): string {
    return this.#rest;
  }

  end(): void {
    this.#output.end();
  }

  destroy(): void {
    this.#stop();
  }
}

async function written(output: Writable, bytes: Uint8Array): Promise<void> {
  if (output.destroyed || !output.writable || output.write(bytes)) return;
  await new Promise<void>((resolve) => {
    const done = (): void => {
      output.off('drain', done);
      output.off('close', done);
      resolve();
    };
    output.on('drain', done);
    output.on('close', done);
  });
}

/** A manual WebSocket client: a library would not violate the protocol. */
export class WebSocketConnection implements Connection {
  isClosed = false;
  onMessage: (text: string) => void = () => {};
  onClose = (): void => {};
  readonly #socket: Duplex;
  #bytes: Buffer = Buffer.alloc(0);

  static async open(url: string, key: string): Promise<WebSocketConnection> {
    const { port } = new URL(url);
    const socket = connect(Number(port), '127.0.0.1');
    socket.on('error', () => {});
    socket.write(
      [
        'GET /ws HTTP/1.1',
        `Host: 127.0.0.1:${port}`,
        'Upgrade: websocket',
        'Connection: Upgrade',
        'Sec-WebSocket-Version: 13',
        `Sec-WebSocket-Key: ${randomBytes(16).toString('base64')}`,
        `Authorization: Bearer ${key}`,
        '\r\n',
      ].join('\r\n'),
    );
    let head = Buffer.alloc(0);
    while (!head.includes('\r\n\r\n')) {
      const [bytes] = (await Promise.race([once(socket, 'data'), once(socket, 'close')])) as [unknown];
      if (!(bytes instanceof Buffer)) throw new Error(`no WebSocket: ${head.toString()}`);
      head = Buffer.concat([head, bytes]);
    }
    if (!head.toString('latin1').startsWith('HTTP/1.1 101'))
      throw new Error(`no WebSocket: ${head.toString()}`);
    return new WebSocketConnection(socket, head.subarray(head.indexOf('\r\n\r\n') + 4));
  }

  constructor(socket: Duplex, head: Buffer) {
    this.#socket = socket;
    socket.on('data', (bytes: Buffer) => this.#take(bytes));
    socket.on('close', () => {
      this.isClosed = true;
      this.onClose();
    });
    if (head.length > 0) queueMicrotask(() => this.#take(head));
  }

  async send(bytes: Uint8Array): Promise<void> {
    await written(this.#socket, bytes);
  }

  frame(payload: Uint8Array): Uint8Array {
    return clientFrame(0x81, payload);
  }

  rest(): string {
    return this.#bytes.toString('latin1');
  }

  end(): void {
    this.#socket.end();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  #take(bytes: Buffer): void {
    this.#bytes = this.#bytes.length === 0 ? bytes : Buffer.concat([this.#bytes, bytes]);
    for (;;) {
      const all = this.#bytes;
      if (all.length < 2) return;
      const short = (all[1] ?? 0) & 0x7f;
      const start = short === 126 ? 4 : short === 127 ? 10 : 2;
      if (all.length < start) return;
      const size =
        short === 126 ? all.readUInt16BE(2) : short === 127 ? Number(all.readBigUInt64BE(2)) : short;
      if (all.length < start + size) return;
      const payload = all.subarray(start, start + size);
      this.#bytes = all.subarray(start + size);
      if (((all[0] ?? 0) & 0x0f) === 1) this.onMessage(payload.toString());
      if (((all[0] ?? 0) & 0x0f) === 9) void this.send(clientFrame(0x8a, payload));
    }
  }
}

/** A client frame; the mask is zero, so the payload is unchanged. */
export function clientFrame(first: number, payload: Uint8Array): Buffer {
  const { length } = payload;
  const head = Buffer.alloc(length < 126 ? 6 : length < 65_536 ? 8 : 14);
  head[0] = first;
  head[1] = 0x80 | (length < 126 ? length : length < 65_536 ? 126 : 127);
  if (length >= 126 && length < 65_536) head.writeUInt16BE(length, 2);
  if (length >= 65_536) head.writeBigUInt64BE(BigInt(length), 2);
  return Buffer.concat([head, payload]);
}

/**
 * A manual client for pipelined HTTP. Each response is returned as `status content-type length-of-head` and
 * body, one JSON text.
 */
export class HttpConnection implements Connection {
  isClosed = false;
  onMessage: (text: string) => void = () => {};
  onClose = (): void => {};
  readonly #socket: Duplex;
  #bytes: Buffer = Buffer.alloc(0);

  static async open(url: string): Promise<HttpConnection> {
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    socket.on('error', () => {});
    await once(socket, 'connect');
    return new HttpConnection(socket);
  }

  constructor(socket: Duplex) {
    this.#socket = socket;
    socket.on('data', (bytes: Buffer) => this.#take(bytes));
    socket.on('close', () => {
      this.isClosed = true;
      this.onClose();
    });
  }

  async send(bytes: Uint8Array): Promise<void> {
    await written(this.#socket, bytes);
  }

  frame(payload: Uint8Array): Uint8Array {
    return payload;
  }

  rest(): string {
    return this.#bytes.toString('latin1');
  }

  end(): void {
    this.#socket.end();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  #take(bytes: Buffer): void {
    this.#bytes = this.#bytes.length === 0 ? bytes : Buffer.concat([this.#bytes, bytes]);
    for (;;) {
      const end = this.#bytes.indexOf('\r\n\r\n');
      if (end < 0) return;
      const head = this.#bytes.toString('latin1', 0, end);
      const length = Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0);
      if (this.#bytes.length < end + 4 + length) return;
      const body = this.#bytes.toString('utf8', end + 4, end + 4 + length);
      this.#bytes = this.#bytes.subarray(end + 4 + length);
      this.onMessage(JSON.stringify({ head, body }));
    }
  }
}
