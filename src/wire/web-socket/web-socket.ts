import { hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { GrowingBuffer } from '../growing-buffer.ts';
import { httpRefusal } from '../http/server-refusal.ts';
import { type Rate, TokenBucket } from '../http/rate-limit.ts';
import { encodeFrame, type Frame, type FrameProblem, FrameReader, OPCODES } from './frames.ts';

export interface WebSocketLimits {
  /** Maximum bytes and frames of one message. */
  readonly messageBytes: number;
  readonly messageFrames: number;
  /** How long one message may take to arrive. */
  readonly messageMs: number;
  /** Rate of frames of all kinds, including pings. */
  readonly frames: Rate;
  /** The ping interval. A client that has sent nothing until the next ping is disconnected. */
  readonly pingMs: number;
  /** After this many pings without progress of our output, the client is disconnected. */
  readonly stalledPings: number;
}

export const WEB_SOCKET_LIMITS: WebSocketLimits = {
  messageBytes: 1024 * 1024,
  messageFrames: 1_024,
  messageMs: 30_000,
  frames: { perMinute: 12_000, burst: 2_000 },
  pingMs: 15_000,
  stalledPings: 4,
};

export interface WebSocketOptions {
  readonly onText: (text: string) => void;
  /** Called once, for any end. */
  readonly onClose: () => void;
  readonly limits?: Partial<WebSocketLimits>;
}

/** The server side of a WebSocket: complete texts in and out. */
export class WebSocketLink {
  readonly #socket: Duplex;
  readonly #options: WebSocketOptions;
  readonly #limits: WebSocketLimits;
  readonly #reader: FrameReader;
  readonly #frameRate: TokenBucket;
  readonly #pingTimer: NodeJS.Timeout;
  /** Runs while a message is incomplete. */
  #messageTimer: NodeJS.Timeout | undefined;
  readonly #message = new GrowingBuffer();
  #messageFrames = 0;
  #isClosing = false;
  #isClosed = false;
  #isAnswering = true;
  /** The answer to the latest ping, while output is blocked. */
  #pendingPong: Buffer | undefined;
  /** Bytes that the peer had read at the last ping. */
  #readAtPing = 0;
  #stalledPings = 0;

  /** Takes over a connection after its handshake; `head` contains the bytes received after it. */
  constructor(socket: Duplex, head: Uint8Array, options: WebSocketOptions) {
    this.#socket = socket;
    this.#options = options;
    this.#limits = { ...WEB_SOCKET_LIMITS, ...options.limits };
    this.#reader = new FrameReader(this.#limits.messageBytes);
    this.#frameRate = new TokenBucket(this.#limits.frames);
    this.#pingTimer = setInterval(() => this.#ping(), this.#limits.pingMs);
    socket.on('data', (bytes: Buffer) => this.#receive(bytes));
    socket.on('drain', () => this.#sendPendingPong());
    socket.on('end', () => socket.end());
    socket.on('error', () => socket.destroy());
    socket.on('close', () => this.#end());
    // Before anything else is read, but after the constructor has returned.
    if (head.length > 0) queueMicrotask(() => this.#receive(head));
    socket.resume();
  }

  /** Bytes that were sent but not yet read by the peer. */
  get pending(): number {
    return this.#socket.writableLength;
  }

  /** Resolves when the peer has read what was pending, or has disconnected. */
  drained(): Promise<void> {
    if (this.#isClosed || !this.#socket.writableNeedDrain) return Promise.resolve();
    return new Promise((resolve) => {
      const finish = (): void => {
        this.#socket.off('drain', finish);
        this.#socket.off('close', finish);
        resolve();
      };
      this.#socket.on('drain', finish);
      this.#socket.on('close', finish);
    });
  }

  send(text: string): void {
    this.sendFrames(textFrame(text));
  }

  /** Sends one or more joined results of `textFrame`, so that texts for many links are encoded once. */
  sendFrames(frames: Uint8Array): void {
    if (!this.#isClosing && !this.#isClosed) this.#socket.write(frames);
  }

  /** Sends the reason and closes the connection. */
  close(code = 1000, reason = ''): void {
    if (this.#isClosing || this.#isClosed) return;
    this.#isClosing = true;
    this.#resetMessage();
    const text = Buffer.from(reason).subarray(0, 120);
    const payload = Buffer.alloc(2 + text.length);
    payload.writeUInt16BE(code, 0);
    payload.set(text, 2);
    this.#socket.end(encodeFrame(OPCODES.close, payload));
    // A client that does not read the reason in time is disconnected without it.
    setTimeout(() => this.#socket.destroy(), CLOSE_MS).unref();
  }

  #write(opcode: number, payload: Uint8Array): void {
    this.sendFrames(encodeFrame(opcode, payload));
  }

  #receive(bytes: Uint8Array): void {
    if (this.#isClosing) return;
    this.#isAnswering = true;
    for (const frame of this.#reader.push(bytes)) {
      const wait = this.#frameRate.take();
      if (wait > 0) this.close(POLICY_VIOLATION, `too many frames: wait ${wait} s before you connect again`);
      else this.#handle(frame);
      if (this.#isClosing) return;
    }
    const { problem } = this.#reader;
    if (problem !== undefined) this.#refuse(problem);
    else if (this.#messageFrames > 0 || this.#reader.isInFrame) this.#startMessageTimer();
    else this.#stopMessageTimer();
  }

  #handle({ opcode, isLast, payload }: Frame): void {
    switch (opcode) {
      case OPCODES.ping:
        this.#pendingPong = payload;
        if (!this.#socket.writableNeedDrain) this.#sendPendingPong();
        return;
      case OPCODES.pong:
        return;
      case OPCODES.close:
        this.close(payload.length >= 2 ? closeCodeFrom(payload) : 1000);
        return;
      case OPCODES.binary:
        this.#refuse({ closeCode: 1003, reason: 'only text messages are supported' });
        return;
      default:
        this.#collect(opcode === OPCODES.continuation, isLast, payload);
    }
  }

  /** RFC 6455 allows answering only the latest of several pings, so unread answers use no memory. */
  #sendPendingPong(): void {
    const pong = this.#pendingPong;
    this.#pendingPong = undefined;
    if (pong !== undefined) this.#write(OPCODES.pong, pong);
  }

  #collect(isContinuation: boolean, isLast: boolean, payload: Buffer): void {
    if (isContinuation !== this.#messageFrames > 0) {
      this.#refuse({
        closeCode: 1002,
        reason: 'a message started inside another, or continued without a start',
      });
      return;
    }
    const { messageBytes, messageFrames } = this.#limits;
    this.#messageFrames += 1;
    if (this.#message.length + payload.length > messageBytes) {
      this.#refuse({ closeCode: 1009, reason: `a message is larger than ${messageBytes} bytes` });
      return;
    }
    if (this.#messageFrames > messageFrames) {
      this.#refuse({
        closeCode: POLICY_VIOLATION,
        reason: `a message has more than ${messageFrames} frames: send larger ones`,
      });
      return;
    }
    if (isLast && !isContinuation) this.#deliver(payload);
    else {
      this.#message.append(payload);
      if (isLast) this.#deliver(this.#message.view);
    }
  }

  #deliver(bytes: Buffer): void {
    const text = decodeText(bytes);
    this.#resetMessage();
    if (text === undefined) this.#refuse({ closeCode: 1007, reason: 'a text is not UTF-8' });
    else this.#options.onText(text);
  }

  #resetMessage(): void {
    this.#message.clear();
    this.#messageFrames = 0;
    this.#stopMessageTimer();
  }

  #startMessageTimer(): void {
    this.#messageTimer ??= setTimeout(
      () => this.close(POLICY_VIOLATION, 'a message took too long to arrive'),
      this.#limits.messageMs,
    );
  }

  #stopMessageTimer(): void {
    clearTimeout(this.#messageTimer);
    this.#messageTimer = undefined;
  }

  #refuse({ closeCode, reason }: FrameProblem): void {
    this.close(closeCode, reason);
  }

  #ping(): void {
    if (!this.#isAnswering || this.#isStalled()) {
      this.#socket.destroy();
      return;
    }
    // A ping behind unread output would only add to it and could not be answered.
    if (this.#socket.writableNeedDrain) return;
    this.#isAnswering = false;
    this.#write(OPCODES.ping, Buffer.alloc(0));
  }

  /**
   * Returns whether no output was read for several pings: a client that sends and never reads must not hold
   * memory.
   */
  #isStalled(): boolean {
    const { pending } = this;
    const read = this.#socket instanceof Socket ? this.#socket.bytesWritten - pending : 0;
    this.#stalledPings = pending > 0 && read === this.#readAtPing ? this.#stalledPings + 1 : 0;
    this.#readAtPing = read;
    return this.#stalledPings >= this.#limits.stalledPings;
  }

  #end(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearInterval(this.#pingTimer);
    this.#resetMessage();
    this.#options.onClose();
  }
}

/** Encodes a text as a frame. */
export function textFrame(text: string): Buffer {
  return encodeFrame(OPCODES.text, Buffer.from(text));
}

/**
 * Creates the handshake response; rejects an invalid handshake. The subprotocol must be one that the client
 * offered.
 */
export function webSocketHandshake(headers: IncomingHttpHeaders, subprotocol: string | undefined): string {
  const key = headers['sec-websocket-key'] ?? '';
  const isOne =
    headers.upgrade?.toLowerCase() === 'websocket' &&
    headers['sec-websocket-version'] === '13' &&
    /^[A-Za-z0-9+/]{22}==$/.test(key);
  if (!isOne)
    throw httpRefusal(426, 'upgrade_required', 'this endpoint requires WebSocket version 13', {
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

function decodeText(bytes: Buffer): string | undefined {
  try {
    return UTF8.decode(bytes);
  } catch {
    return undefined;
  }
}

/** Returns a valid close code; anything else is answered as an error. */
function closeCodeFrom(payload: Buffer): number {
  const code = payload.readUInt16BE(0);
  const isSound =
    (code >= 1000 && code <= 1011 && ![1004, 1005, 1006].includes(code)) || (code >= 3000 && code < 5000);
  return isSound ? code : 1002;
}

/** From RFC 6455. */
const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const CLOSE_MS = 5_000;
const POLICY_VIOLATION = 1008;
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
