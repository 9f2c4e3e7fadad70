import type { Socket } from 'node:net';
import type { BacklogLimits } from '../settings.ts';

/** Bytes being sent to clients. Bytes sent to several clients are in memory once and are counted once. */
export class Chunk {
  readonly bytes: Buffer;
  /** The number of clients that have not read it. */
  readers = 0;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }
}

export interface DroppedEvents {
  readonly reason: string;
  /** Bytes that the client had not read. */
  readonly unread: number;
}

/**
 * Tracks the bytes that clients of the door have not read. A client that does not read must neither fill the memory nor delay others: it is
 * disconnected when it reaches its own limit, or when the door reaches its limit and this client has the most unread bytes.
 */
export class Backlog {
  readonly limits: BacklogLimits;
  readonly now: () => number;
  readonly #onCutOff: (cut: DroppedEvents) => void;
  readonly #outlets = new Set<ClientOutput>();
  readonly #waiting = new Set<() => void>();
  #total = 0;
  #isRelieved = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(limits: BacklogLimits, onCutOff: (cut: DroppedEvents) => void, now: () => number = Date.now) {
    this.limits = limits;
    this.#onCutOff = onCutOff;
    this.now = now;
  }

  /** Bytes in memory for clients that have not read them. */
  get total(): number {
    return this.#total;
  }

  get isFull(): boolean {
    return this.#total > this.limits.doorBytes;
  }

  outlet(socket: Socket): ClientOutput {
    const outlet = new ClientOutput(socket, this);
    this.#outlets.add(outlet);
    socket.once('close', () => this.#outlets.delete(outlet));
    return outlet;
  }

  /**
   * Resolves when the door is below its limit, or after `stalledMs`. Requests wait for this, because their answers would add to the
   * backlog.
   */
  async room(): Promise<void> {
    if (!this.isFull) return;
    this.resume();
    await new Promise<void>((resolve) => {
      const go = (): void => {
        clearTimeout(late);
        this.#waiting.delete(go);
        resolve();
      };
      const late = setTimeout(go, this.limits.stalledMs);
      this.#waiting.add(go);
    });
  }

  hold(chunk: Chunk): void {
    if (chunk.readers === 0) this.#total += chunk.bytes.length;
    chunk.readers += 1;
  }

  release(chunk: Chunk): void {
    chunk.readers -= 1;
    if (chunk.readers > 0) return;
    this.#total -= chunk.bytes.length;
    if (this.isFull) return;
    for (const go of this.#waiting) go();
  }

  /** Disconnects one client if the door is above its limit, and repeats until it is below. */
  resume(): void {
    if (!this.isFull || this.#isRelieved) return;
    const worst = this.#worst();
    if (worst !== undefined) {
      // The unread bytes of the client are released asynchronously.
      this.#isRelieved = true;
      setImmediate(() => {
        this.#isRelieved = false;
        this.resume();
      });
      this.cut(worst, `the clients of the door had more than ${this.limits.doorBytes} bytes unread`);
      return;
    }
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.resume();
    }, this.limits.stalledMs);
    this.#timer.unref();
  }

  cut(outlet: ClientOutput, reason: string): void {
    this.#outlets.delete(outlet);
    this.#onCutOff({ reason, unread: outlet.unread });
    outlet.destroy();
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  /** The client with the most unread bytes. An answer may be large, so a client that is still reading its answer is exempt. */
  #worst(): ClientOutput | undefined {
    const stalledSince = this.now() - this.limits.stalledMs;
    let worst: ClientOutput | undefined;
    for (const outlet of this.#outlets) {
      const isCandidate = outlet.isSubscriber || outlet.readAt <= stalledSince;
      if (isCandidate && outlet.unread > (worst?.unread ?? 0)) worst = outlet;
    }
    return worst;
  }
}

/** The output to one client. */
export class ClientOutput {
  isSubscriber = false;
  /** When the client last read something, or had nothing to read. */
  readAt = 0;
  /** Bytes that the client has not read. */
  unread = 0;
  readonly #socket: Socket;
  readonly #backlog: Backlog;

  constructor(socket: Socket, backlog: Backlog) {
    this.#socket = socket;
    this.#backlog = backlog;
  }

  /** Sends to a subscriber and disconnects it if it exceeds its limit. A single chunk may be larger than the limit. */
  publish(chunk: Chunk): void {
    if (this.#socket.destroyed) return;
    const { connectionBytes } = this.#backlog.limits;
    const hadUnread = this.unread > 0;
    this.#await(chunk);
    this.#write(chunk.bytes, () => this.#backlog.release(chunk));
    if (hadUnread && this.unread > connectionBytes)
      this.#backlog.cut(this, `the client had more than ${connectionBytes} bytes unread`);
    else this.#backlog.resume();
  }

  /** Sends an answer. Resolves when the client has read it or has disconnected. */
  async answer(text: string): Promise<void> {
    const chunk = new Chunk(Buffer.from(text));
    const { bytes } = chunk;
    this.#await(chunk);
    this.#backlog.resume();
    let left = bytes.length;
    // Written in pieces: each piece that is read proves that the client is reading.
    while (left > 0 && !this.#socket.destroyed) {
      const at = bytes.length - left;
      const piece = bytes.subarray(at, at + PIECE);
      await new Promise<void>((done) => this.#write(piece, done));
      left -= piece.length;
    }
    this.unread -= left;
    this.#backlog.release(chunk);
  }

  destroy(): void {
    this.#socket.destroy();
  }

  #await(chunk: Chunk): void {
    if (this.unread === 0) this.readAt = this.#backlog.now();
    this.unread += chunk.bytes.length;
    this.#backlog.hold(chunk);
  }

  #write(bytes: Buffer, done: () => void): void {
    // Also called when the connection is closed.
    this.#socket.write(bytes, () => {
      this.unread -= bytes.length;
      this.readAt = this.#backlog.now();
      done();
    });
  }
}

const PIECE = 256 * 1024;
