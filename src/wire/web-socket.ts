import { hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { Duplex } from 'node:stream';
import { httpRefusal } from './http-server-refusal.ts';
import { encodeFrame, type Frame, type FrameProblem, FrameReader, OPCODES } from './web-socket-frames.ts';

export interface WebSocketOptions {
  readonly onText: (text: string) => void;
  /** Once, however it ended. */
  readonly onClose: () => void;
  /** Bytes of one message. */
  readonly limit?: number;
  /** How often the other side is asked whether it is there; one that has not answered until the next time is gone. */
  readonly pingMs?: number;
}

/** The server's side of a WebSocket: whole texts in and out. */
export class WebSocketLink {
  readonly #socket: Duplex;
  readonly #options: WebSocketOptions;
  readonly #frames: FrameReader;
  readonly #limit: number;
  readonly #timer: NodeJS.Timeout;
  #pieces: Buffer[] = [];
  #size = 0;
  #isInMessage = false;
  #isClosing = false;
  #isGone = false;
  #isAnswering = true;

  /** Takes over a connection whose handshake is done; `head` are bytes that came behind it. */
  constructor(socket: Duplex, head: Uint8Array, options: WebSocketOptions) {
    this.#socket = socket;
    this.#options = options;
    this.#limit = options.limit ?? 1024 * 1024;
    this.#frames = new FrameReader(this.#limit);
    this.#timer = setInterval(() => this.#ping(), options.pingMs ?? 30_000);
    socket.on('data', (bytes: Buffer) => this.#take(bytes));
    socket.on('end', () => socket.end());
    socket.on('error', () => socket.destroy());
    socket.on('close', () => this.#end());
    // Before anything else is read, but not before whoever made us knows us.
    if (head.length > 0) queueMicrotask(() => this.#take(head));
    socket.resume();
  }

  /** Bytes that were sent and not yet read by the other side. */
  get pending(): number {
    return this.#socket.writableLength;
  }

  /** Resolves when the other side has read what was pending, or is gone. */
  drained(): Promise<void> {
    if (this.#isGone || !this.#socket.writableNeedDrain) return Promise.resolve();
    return new Promise((resolve) => {
      const done = (): void => {
        this.#socket.off('drain', done);
        this.#socket.off('close', done);
        resolve();
      };
      this.#socket.on('drain', done);
      this.#socket.on('close', done);
    });
  }

  send(text: string): void {
    this.sendFrames(textFrame(text));
  }

  /** Sends what `textFrame` made, one or more of them joined: texts for many links are framed once. */
  sendFrames(frames: Uint8Array): void {
    if (!this.#isClosing && !this.#isGone) this.#socket.write(frames);
  }

  /** Says why, and ends the connection. */
  close(code = 1000, reason = ''): void {
    if (this.#isClosing || this.#isGone) return;
    this.#isClosing = true;
    const text = Buffer.from(reason).subarray(0, 120);
    const payload = Buffer.alloc(2 + text.length);
    payload.writeUInt16BE(code, 0);
    payload.set(text, 2);
    this.#socket.end(encodeFrame(OPCODES.close, payload));
    // It gets a moment to read that, and no more.
    setTimeout(() => this.#socket.destroy(), CLOSE_MS).unref();
  }

  #write(opcode: number, payload: Uint8Array): void {
    this.sendFrames(encodeFrame(opcode, payload));
  }

  #take(bytes: Uint8Array): void {
    if (this.#isClosing) return;
    this.#isAnswering = true;
    for (const frame of this.#frames.push(bytes)) {
      this.#handle(frame);
      if (this.#isClosing) return;
    }
    const { problem } = this.#frames;
    if (problem !== undefined) this.#refuse(problem);
  }

  #handle({ opcode, isLast, payload }: Frame): void {
    switch (opcode) {
      case OPCODES.ping:
        this.#write(OPCODES.pong, payload);
        return;
      case OPCODES.pong:
        return;
      case OPCODES.close:
        this.close(payload.length >= 2 ? closeCodeIn(payload) : 1000);
        return;
      case OPCODES.binary:
        this.#refuse({ closeCode: 1003, reason: 'only texts are understood' });
        return;
      default:
        this.#collect(opcode === OPCODES.continuation, isLast, payload);
    }
  }

  #collect(isContinuation: boolean, isLast: boolean, payload: Buffer): void {
    if (isContinuation !== this.#isInMessage) {
      this.#refuse({
        closeCode: 1002,
        reason: 'a message began inside another, or went on without a beginning',
      });
      return;
    }
    this.#pieces.push(payload);
    this.#size += payload.length;
    if (this.#size > this.#limit) {
      this.#refuse({ closeCode: 1009, reason: `a message is larger than ${this.#limit} bytes` });
      return;
    }
    this.#isInMessage = !isLast;
    if (!isLast) return;
    const bytes = Buffer.concat(this.#pieces);
    this.#pieces = [];
    this.#size = 0;
    const text = textIn(bytes);
    if (text === undefined) this.#refuse({ closeCode: 1007, reason: 'a text is not UTF-8' });
    else this.#options.onText(text);
  }

  #refuse({ closeCode, reason }: FrameProblem): void {
    this.close(closeCode, reason);
  }

  #ping(): void {
    if (!this.#isAnswering) {
      this.#socket.destroy();
      return;
    }
    this.#isAnswering = false;
    this.#write(OPCODES.ping, Buffer.alloc(0));
  }

  #end(): void {
    if (this.#isGone) return;
    this.#isGone = true;
    clearInterval(this.#timer);
    this.#options.onClose();
  }
}

/** A text as it is sent. */
export function textFrame(text: string): Buffer {
  return encodeFrame(OPCODES.text, Buffer.from(text));
}

/** Answers a handshake; refuses one that is none. The subprotocol has to be one that the client offered. */
export function webSocketHandshake(headers: IncomingHttpHeaders, subprotocol: string | undefined): string {
  const key = headers['sec-websocket-key'] ?? '';
  const isOne =
    headers.upgrade?.toLowerCase() === 'websocket' &&
    headers['sec-websocket-version'] === '13' &&
    /^[A-Za-z0-9+/]{22}==$/.test(key);
  if (!isOne)
    throw httpRefusal(426, 'upgrade_required', 'this is a WebSocket of version 13', {
      headers: { upgrade: 'websocket', 'sec-websocket-version': '13' },
    });
  const accept = hash('sha1', `${key}${GUID}`, 'base64');
  return [
    'HTTP/1.1 101 Switching Protocols',
    'Upgrade: websocket',
    'Connection: Upgrade',
    `Sec-WebSocket-Accept: ${accept}`,
    ...(subprotocol === undefined ? [] : [`Sec-WebSocket-Protocol: ${subprotocol}`]),
    '\r\n',
  ].join('\r\n');
}

function textIn(bytes: Buffer): string | undefined {
  try {
    return UTF8.decode(bytes);
  } catch {
    return undefined;
  }
}

/** Codes that may stand in a close; anything else is answered as an error. */
function closeCodeIn(payload: Buffer): number {
  const code = payload.readUInt16BE(0);
  const isSound =
    (code >= 1000 && code <= 1011 && ![1004, 1005, 1006].includes(code)) || (code >= 3000 && code < 5000);
  return isSound ? code : 1002;
}

/** By RFC 6455. */
const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const CLOSE_MS = 1_000;
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
