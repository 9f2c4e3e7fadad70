import { createHash, randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** Encodes a client frame; options make it invalid. */
export function clientFrame(
  opcode: number,
  payload: Uint8Array | string,
  { isLast = true, isMasked = true, reserved = 0, size }: FrameOptions = {},
): Buffer {
  const bytes = Buffer.from(payload);
  const length = size ?? bytes.length;
  const head = [(isLast ? 0x80 : 0) | reserved | opcode];
  const mark = isMasked ? 0x80 : 0;
  if (length < 126) head.push(mark | length);
  else if (length < 65_536) head.push(mark | 126, length >> 8, length & 0xff);
  else {
    const long = Buffer.alloc(8);
    long.writeBigUInt64BE(BigInt(length));
    head.push(mark | 127, ...long);
  }
  if (!isMasked) return Buffer.concat([Buffer.from(head), bytes]);
  const mask = randomBytes(4);
  const masked = bytes.map((byte, at) => byte ^ (mask[at % 4] ?? 0));
  return Buffer.concat([Buffer.from(head), mask, masked]);
}

export interface FrameOptions {
  readonly isLast?: boolean;
  readonly isMasked?: boolean;
  readonly reserved?: number;
  readonly size?: number;
}

/** A minimal RFC 6455 client that can violate every rule. */
export class SocketClient {
  readonly socket: Socket;
  /** The head of the handshake response, and a body if it was rejected. */
  answer = '';
  readonly texts: string[] = [];
  readonly pongs: string[] = [];
  closeCode: number | undefined;
  closeReason = '';
  readonly closed: Promise<void>;
  readonly key = randomBytes(16).toString('base64');
  #rest: Buffer = Buffer.alloc(0);
  #isUpgraded = false;
  #isClosed = false;
  readonly #waiting = new Set<() => void>();

  constructor(url: string, headers: Record<string, string> = {}, path = '/ws') {
    const { hostname, port } = new URL(url);
    this.socket = connect(Number(port), hostname);
    const lines = Object.entries({
      Host: `${hostname}:${port}`,
      Upgrade: 'websocket',
      Connection: 'Upgrade',
      'Sec-WebSocket-Key': this.key,
      'Sec-WebSocket-Version': '13',
      ...headers,
    }).map(([name, value]) => `${name}: ${value}`);
    this.socket.write(`GET ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`);
    this.socket.on('error', () => {});
    this.socket.on('data', (bytes: Buffer) => {
      this.#rest = Buffer.concat([this.#rest, bytes]);
      this.#read();
      this.#wake();
    });
    this.closed = new Promise((resolve) => {
      this.socket.on('close', () => {
        this.#isClosed = true;
        resolve();
        this.#wake();
      });
    });
    onTestFinished(() => {
      this.socket.destroy();
    });
  }

  get expectedAccept(): string {
    return createHash('sha1').update(`${this.key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
  }

  send(message: unknown): void {
    this.socket.write(clientFrame(1, typeof message === 'string' ? message : JSON.stringify(message)));
  }

  async until<T>(read: () => T | undefined): Promise<T> {
    for (;;) {
      const found = read();
      if (found !== undefined) return found;
      if (this.#isClosed)
        throw new Error(
          `closed (${this.closeCode} ${this.closeReason}): ${this.answer} ${this.texts.join('\n')}`,
        );
      await new Promise<void>((resolve) => this.#waiting.add(resolve));
    }
  }

  upgraded(): Promise<true> {
    return this.until(() => this.#isUpgraded || undefined);
  }

  #read(): void {
    if (!this.#isUpgraded) {
      const end = this.#rest.indexOf('\r\n\r\n');
      if (end < 0) return;
      if (!this.#rest.toString('latin1').startsWith('HTTP/1.1 101')) {
        this.answer = this.#rest.toString();
        return;
      }
      this.answer = this.#rest.subarray(0, end).toString();
      this.#rest = this.#rest.subarray(end + 4);
      this.#isUpgraded = true;
    }
    for (;;) {
      const rest = this.#rest;
      if (rest.length < 2) return;
      const short = (rest[1] ?? 0) & 0x7f;
      const start = short === 126 ? 4 : short === 127 ? 10 : 2;
      if (rest.length < start) return;
      const size =
        short === 126 ? rest.readUInt16BE(2) : short === 127 ? Number(rest.readBigUInt64BE(2)) : short;
      if (rest.length < start + size) return;
      this.#take((rest[0] ?? 0) & 0x0f, rest.subarray(start, start + size));
      this.#rest = rest.subarray(start + size);
    }
  }

  #take(opcode: number, payload: Buffer): void {
    if (opcode === 1) this.texts.push(payload.toString());
    if (opcode === 9) this.socket.write(clientFrame(10, payload));
    if (opcode === 10) this.pongs.push(payload.toString());
    if (opcode !== 8) return;
    this.closeCode = payload.readUInt16BE(0);
    this.closeReason = payload.subarray(2).toString();
  }

  #wake(): void {
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }
}
