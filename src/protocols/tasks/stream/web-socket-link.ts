import { type IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { type RawData, WebSocket, WebSocketServer } from 'ws';
import { drained, TokenBucket } from '../../../wire/index.ts';
import { WEB_SOCKET_LIMITS, type WebSocketLimits } from '../settings.ts';

export interface WebSocketOptions {
  readonly onText: (text: string) => void;
  /** Called once, for any end. */
  readonly onClose: () => void;
}

/** Upgrades a connection whose handshake is valid, and calls `onOpen` with it. */
export type AcceptWebSocket = (
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  onOpen: (link: (options: WebSocketOptions) => WebSocketLink) => void,
) => void;

/** Accepts WebSockets with these limits. */
export function webSockets(given: Partial<WebSocketLimits>): AcceptWebSocket {
  const limits = { ...WEB_SOCKET_LIMITS, ...given };
  const options = {
    noServer: true,
    clientTracking: false,
    // Answers only the latest ping while the client does not read: see WebSocketLink.
    autoPong: false,
    closeTimeout: CLOSE_MS,
    maxPayload: limits.messageBytes,
    maxFragments: limits.messageFrames,
    // A message can arrive byte by byte: the limits of its size and its time apply.
    maxBufferedChunks: 0,
    handleProtocols,
    WebSocket: ExplainedWebSocket,
  };
  const server = new WebSocketServer(options);
  return (request, socket, head, onOpen) =>
    server.handleUpgrade(request, socket, head, (webSocket) =>
      onOpen((options) => new WebSocketLink(webSocket, socket, options, limits)),
    );
}

/**
 * Selects our subprotocol if it was offered, otherwise none: an offer may contain a key, which is never sent back. Browsers and the `ws`
 * package then fail if they offered anything, so a key must be offered together with `polypod`.
 */
function handleProtocols(offered: ReadonlySet<string>): string | false {
  return offered.has('polypod') ? 'polypod' : false;
}

/** Adds reasons to the codes with which the library closes a connection. */
class ExplainedWebSocket extends WebSocket {
  override close(code?: number, reason?: string | Buffer): void {
    super.close(code, reason ?? REASONS[code ?? 0]);
  }

  /** Whether a message has started and is not complete. Only the library's receiver knows. */
  get isInMessage(): boolean {
    const receiver: unknown = Reflect.get(this, '_receiver');
    if (typeof receiver !== 'object' || receiver === null) return false;
    return (
      Number(Reflect.get(receiver, '_bufferedBytes')) > 0 ||
      Number(Reflect.get(receiver, '_fragmented')) > 0 ||
      Number(Reflect.get(receiver, '_state')) > 0
    );
  }
}

const REASONS: Readonly<Record<number, string>> = {
  1002: 'a frame violates RFC 6455',
  1007: 'a text is not UTF-8',
  1008: 'a message has too many frames: send larger ones',
  1009: 'a message is too large',
};

/** The server side of a WebSocket: complete texts in and out. */
export class WebSocketLink {
  readonly #webSocket: WebSocket;
  readonly #socket: Duplex;
  readonly #options: WebSocketOptions;
  readonly #limits: WebSocketLimits;
  readonly #frameRate: TokenBucket;
  readonly #pingTimer: NodeJS.Timeout;
  /** Runs while a message is incomplete. */
  #messageTimer: NodeJS.Timeout | undefined;
  #isClosing = false;
  #isAnswering = true;
  /** The answer to the latest ping, while output is blocked. */
  #pendingPong: Buffer | undefined;
  /** Bytes that the peer had read at the last ping. */
  #readAtPing = 0;
  #stalledPings = 0;

  constructor(webSocket: WebSocket, socket: Duplex, options: WebSocketOptions, limits: WebSocketLimits) {
    this.#webSocket = webSocket;
    this.#socket = socket;
    this.#options = options;
    this.#limits = limits;
    this.#frameRate = new TokenBucket(limits.frames);
    this.#pingTimer = setInterval(() => this.#ping(), limits.pingMs);
    webSocket.on('message', (data, isBinary) => this.#receive(data, isBinary));
    webSocket.on('ping', (payload) => this.#answerPing(payload));
    webSocket.on('pong', () => this.#count());
    // The library closes the connection with the code of the error.
    webSocket.on('error', () => {});
    webSocket.on('close', () => this.#end());
    // After the library's own listener, which has parsed the bytes.
    socket.on('data', () => this.#watchMessage());
    socket.on('drain', () => this.#sendPendingPong());
  }

  /** Bytes that were sent but not yet read by the peer. */
  get pending(): number {
    return this.#webSocket.bufferedAmount;
  }

  /** Resolves when the peer has read what was pending, or has disconnected. */
  drained(): Promise<void> {
    return drained(this.#socket);
  }

  /** Sends texts in one write. Pass bytes for texts that many links send, so that they are encoded once. */
  send(...texts: readonly (string | Uint8Array)[]): void {
    if (this.#isClosing || this.#webSocket.readyState !== WebSocket.OPEN) return;
    this.#socket.cork();
    for (const text of texts) this.#webSocket.send(text, { binary: false });
    this.#socket.uncork();
  }

  /** Sends the reason and closes the connection. */
  close(code = 1000, reason = ''): void {
    if (this.#isClosing) return;
    this.#isClosing = true;
    this.#stopMessageTimer();
    this.#webSocket.close(code, Buffer.from(reason).subarray(0, MAX_REASON).toString());
    // The client does not have to confirm.
    this.#socket.end();
    // A client that does not read the reason in time is disconnected without it.
    setTimeout(() => this.#socket.destroy(), CLOSE_MS).unref();
  }

  #receive(data: RawData, isBinary: boolean): void {
    if (!this.#count()) return;
    if (isBinary) this.close(UNSUPPORTED, 'only text messages are supported');
    else this.#options.onText(textOf(data));
  }

  /** Counts a frame. Returns false if the connection is closing. */
  #count(): boolean {
    this.#isAnswering = true;
    const wait = this.#frameRate.take();
    if (wait > 0) this.close(POLICY_VIOLATION, `too many frames: wait ${wait} s before you connect again`);
    return !this.#isClosing;
  }

  /** RFC 6455 allows answering only the latest of several pings, so unread answers use no memory. */
  #answerPing(payload: Buffer): void {
    if (!this.#count()) return;
    // A copy: the payload is a part of a larger buffer.
    this.#pendingPong = Buffer.from(payload);
    if (!this.#socket.writableNeedDrain) this.#sendPendingPong();
  }

  #sendPendingPong(): void {
    const pong = this.#pendingPong;
    this.#pendingPong = undefined;
    if (pong !== undefined && !this.#isClosing) this.#webSocket.pong(pong);
  }

  #watchMessage(): void {
    this.#isAnswering = true;
    if (this.#isClosing) return;
    const isInMessage = this.#webSocket instanceof ExplainedWebSocket && this.#webSocket.isInMessage;
    if (!isInMessage) this.#stopMessageTimer();
    else
      this.#messageTimer ??= setTimeout(
        () => this.close(POLICY_VIOLATION, 'a message took too long to arrive'),
        this.#limits.messageMs,
      );
  }

  #stopMessageTimer(): void {
    clearTimeout(this.#messageTimer);
    this.#messageTimer = undefined;
  }

  #ping(): void {
    if (!this.#isAnswering || this.#isStalled()) {
      this.#socket.destroy();
      return;
    }
    // A ping behind unread output would only add to it and could not be answered.
    if (this.#socket.writableNeedDrain || this.#isClosing) return;
    this.#isAnswering = false;
    this.#webSocket.ping();
  }

  /**
   * Returns whether no output was read for several pings: a client that sends and never reads must not hold memory.
   */
  #isStalled(): boolean {
    const { pending } = this;
    const read = this.#socket instanceof Socket ? this.#socket.bytesWritten - pending : 0;
    this.#stalledPings = pending > 0 && read === this.#readAtPing ? this.#stalledPings + 1 : 0;
    this.#readAtPing = read;
    return this.#stalledPings >= this.#limits.stalledPings;
  }

  #end(): void {
    clearInterval(this.#pingTimer);
    this.#stopMessageTimer();
    this.#isClosing = true;
    this.#options.onClose();
  }
}

/** The library delivers one buffer, unless its user requests another type. */
function textOf(data: RawData): string {
  return Buffer.isBuffer(data) ? data.toString() : '';
}

const CLOSE_MS = 5_000;
const MAX_REASON = 120;
const UNSUPPORTED = 1_003;
const POLICY_VIOLATION = 1_008;
