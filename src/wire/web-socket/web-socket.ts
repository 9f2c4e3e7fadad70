import { hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { GrowingBuffer } from '../growing-buffer.ts';
import { httpRefusal } from '../http/server-refusal.ts';
import { type Rate, TokenBucket } from '../http/rate-limit.ts';
import { encodeFrame, type Frame, type FrameProblem, FrameReader, OPCODES } from './frames.ts';

export interface WebSocketLimits {
  /** Bytes of one message, and frames that it may be sent in. */
  readonly messageBytes: number;
  readonly messageFrames: number;
  /** How long one message may take to arrive. */
  readonly messageMs: number;
  /** Frames of all kinds, pings among them. */
  readonly frames: Rate;
  /** How often we ping. A client that has sent nothing until the next ping is disconnected. */
  readonly pingMs: number;
  /** After so many pings without any progress of our output the client is disconnected. */
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
  /** Once, however it ended. */
  readonly onClose: () => void;
  readonly limits?: Partial<WebSocketLimits>;
}

/** The server's side of a WebSocket: whole texts in and out. */
export class WebSocketLink {
  readonly #socket: Duplex;
  readonly #options: WebSocketOptions;
  readonly #limits: WebSocketLimits;
  readonly #reader: FrameReader;
  readonly #frameRate: TokenBucket;
  readonly #pingTimer: NodeJS.Timeout;
  /** Runs while a message has begun and is not complete. */
  #messageTimer: NodeJS.Timeout | undefined;
  readonly #message = new GrowingBuffer();
  #messageFrames = 0;
  #isClosing = false;
  #isGone = false;
  #isAnswering = true;
  /** The answer to the latest ping, while our output is blocked. */
  #owedPong: Buffer | undefined;
  /** Bytes that the other side had read. */
  #readAtPing = 0;
  #stalledPings = 0;

  /** Takes over a connection whose handshake is done; `head` are bytes that came behind it. */
  constructor(socket: Duplex, head: Uint8Array, options: WebSocketOptions) {
    this.#socket = socket;
    this.#options = options;
    this.#limits = { ...WEB_SOCKET_LIMITS, ...options.limits };
    this.#reader = new FrameReader(this.#limits.messageBytes);
    this.#frameRate = new TokenBucket(this.#limits.frames);
    this.#pingTimer = setInterval(() => this.#ping(), this.#limits.pingMs);
    socket.on('data', (bytes: Buffer) => this.#take(bytes));
    socket.on('drain', () => this.#sendOwedPong());
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
    this.#forgetMessage();
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

  #take(bytes: Uint8Array): void {
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
        this.#owedPong = payload;
        if (!this.#socket.writableNeedDrain) this.#sendOwedPong();
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

  /** RFC 6455 lets us answer only the latest of several pings: those that nobody reads the answers of cost nothing. */
  #sendOwedPong(): void {
    const pong = this.#owedPong;
    this.#owedPong = undefined;
    if (pong !== undefined) this.#write(OPCODES.pong, pong);
  }

  #collect(isContinuation: boolean, isLast: boolean, payload: Buffer): void {
    if (isContinuation !== this.#messageFrames > 0) {
      this.#refuse({
        closeCode: 1002,
        reason: 'a message began inside another, or went on without a beginning',
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
    const text = textIn(bytes);
    this.#forgetMessage();
    if (text === undefined) this.#refuse({ closeCode: 1007, reason: 'a text is not UTF-8' });
    else this.#options.onText(text);
  }

  #forgetMessage(): void {
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
    // Behind output that nobody reads a ping would only make that longer, and could not be answered.
    if (this.#socket.writableNeedDrain) return;
    this.#isAnswering = false;
    this.#write(OPCODES.ping, Buffer.alloc(0));
  }

  /** Whether nothing of our output was read for several pings: a client that sends and never reads keeps no memory of ours. */
  #isStalled(): boolean {
    const { pending } = this;
    const read = this.#socket instanceof Socket ? this.#socket.bytesWritten - pending : 0;
    this.#stalledPings = pending > 0 && read === this.#readAtPing ? this.#stalledPings + 1 : 0;
    this.#readAtPing = read;
    return this.#stalledPings >= this.#limits.stalledPings;
  }

  #end(): void {
    if (this.#isGone) return;
    this.#isGone = true;
    clearInterval(this.#pingTimer);
    this.#forgetMessage();
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
const CLOSE_MS = 5_000;
const POLICY_VIOLATION = 1008;
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
