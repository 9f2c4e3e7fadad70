import type { Socket } from 'node:net';

/** How much may wait to be read. */
export interface BacklogLimits {
  /** Bytes for one subscriber. */
  readonly connectionBytes: number;
  /** Bytes for all connections of the door together. */
  readonly doorBytes: number;
  /** While the door is above its limit, a connection that has read nothing for so long is closed. */
  readonly stalledMs: number;
}

/** Bytes on their way to clients. What several clients are sent is in memory once, and is counted once. */
export class Chunk {
  readonly bytes: Buffer;
  /** How many clients have not read it. */
  readers = 0;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }
}

export interface CutOff {
  readonly reason: string;
  /** Bytes that the client had not read. */
  readonly unread: number;
}

/**
 * The bytes that clients of the door have not read yet. A client that does not read must neither fill the memory nor hold up the
 * others: it is disconnected when its own limit is reached, or when it has the largest part of what fills the door's.
 */
export class Backlog {
  readonly limits: BacklogLimits;
  readonly now: () => number;
  readonly #onCutOff: (cut: CutOff) => void;
  readonly #outlets = new Set<Outlet>();
  readonly #waiting = new Set<() => void>();
  #total = 0;
  #isRelieved = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(limits: BacklogLimits, onCutOff: (cut: CutOff) => void, now: () => number = Date.now) {
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

  outlet(socket: Socket): Outlet {
    const outlet = new Outlet(socket, this);
    this.#outlets.add(outlet);
    socket.once('close', () => this.#outlets.delete(outlet));
    return outlet;
  }

  /**
   * Resolves when the door is below its limit, or has waited long enough for clients that read slowly. Requests wait for that,
   * because their answers would fill it further.
   */
  async room(): Promise<void> {
    if (!this.isFull) return;
    this.relieve();
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

  /** Disconnects one client if the door is above its limit, and looks again until it is not. */
  relieve(): void {
    if (!this.isFull || this.#isRelieved) return;
    const worst = this.#worst();
    if (worst !== undefined) {
      // What it had unread is released a moment later.
      this.#isRelieved = true;
      setImmediate(() => {
        this.#isRelieved = false;
        this.relieve();
      });
      this.cut(worst, `the clients of the door had more than ${this.limits.doorBytes} bytes unread`);
      return;
    }
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.relieve();
    }, this.limits.stalledMs);
    this.#timer.unref();
  }

  cut(outlet: Outlet, reason: string): void {
    this.#outlets.delete(outlet);
    this.#onCutOff({ reason, unread: outlet.unread });
    outlet.destroy();
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  /** The one with most unread. An answer may be large; a client that is reading it is left alone. */
  #worst(): Outlet | undefined {
    const stalledSince = this.now() - this.limits.stalledMs;
    let worst: Outlet | undefined;
    for (const outlet of this.#outlets) {
      const isCandidate = outlet.isSubscriber || outlet.readAt <= stalledSince;
      if (isCandidate && outlet.unread > (worst?.unread ?? 0)) worst = outlet;
    }
    return worst;
  }
}

/** The way to one client. */
export class Outlet {
  isSubscriber = false;
  /** When the client read something last, or had nothing to read. */
  readAt = 0;
  /** Bytes that the client has not read. */
  unread = 0;
  readonly #socket: Socket;
  readonly #backlog: Backlog;

  constructor(socket: Socket, backlog: Backlog) {
    this.#socket = socket;
    this.#backlog = backlog;
  }

  /** Sends to a subscriber. One that leaves too much unread is disconnected; what comes at once may be more than that. */
  publish(chunk: Chunk): void {
    if (this.#socket.destroyed) return;
    const { connectionBytes } = this.#backlog.limits;
    const hadUnread = this.unread > 0;
    this.#await(chunk);
    this.#write(chunk.bytes, () => this.#backlog.release(chunk));
    if (hadUnread && this.unread > connectionBytes)
      this.#backlog.cut(this, `the client had more than ${connectionBytes} bytes unread`);
    else this.#backlog.relieve();
  }

  /** Sends an answer, and resolves when the client has read it or is gone. */
  async answer(text: string): Promise<void> {
    const chunk = new Chunk(Buffer.from(text));
    const { bytes } = chunk;
    this.#await(chunk);
    this.#backlog.relieve();
    let left = bytes.length;
    // In pieces: each that is read shows that the client reads.
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
    // Called too when the connection is gone.
    this.#socket.write(bytes, () => {
      this.unread -= bytes.length;
      this.readAt = this.#backlog.now();
      done();
    });
  }
}

const PIECE = 256 * 1024;
