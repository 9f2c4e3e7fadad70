import type { Socket } from 'node:net';
import { isObject, type JsonObject, onAbort, PolypodError, tryParse } from '../base/index.ts';
import { connectUnix, LineReader } from '../wire/index.ts';
import {
  CONTROL_VERSION,
  type ControlPeer,
  type Greeting,
  greetingIn,
  HELLO,
  UNVERSIONED_METHODS,
  refuseOtherVersion,
} from './handshake.ts';
import { encode, errorIn } from './line.ts';

/** A client's connection to a control socket. The handshake precedes the first method. */
export class ControlLink {
  readonly #path: string;
  readonly #peer: ControlPeer;
  readonly #socket: Socket;
  readonly #lines: AsyncGenerator<JsonObject>;
  #greeting: Promise<Greeting> | undefined;

  /** Connects; undefined if no process listens on the path. */
  static async open(path: string, peer: ControlPeer): Promise<ControlLink | undefined> {
    const socket = await connectUnix(path);
    return socket === undefined ? undefined : new ControlLink(path, peer, socket);
  }

  private constructor(path: string, peer: ControlPeer, socket: Socket) {
    this.#path = path;
    this.#peer = peer;
    this.#socket = socket;
    this.#lines = linesFrom(socket);
    // The reader of the lines sees an error as the end.
    socket.on('error', () => {});
  }

  /** Calls a method. Calls on one connection are sequential. */
  async call(method: string, params: JsonObject = {}): Promise<JsonObject> {
    await this.#greet(method);
    this.#socket.write(encode({ method, params }));
    return this.#result(await this.#next());
  }

  /** Calls a method that answers at once. Closes the connection if the process does not answer in time. */
  async callSoon(method: string, params: JsonObject = {}): Promise<JsonObject> {
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      this.close();
    }, SOON_MS);
    try {
      return await this.call(method, params);
    } catch (thrown) {
      if (!isLate) throw thrown;
      throw new PolypodError('unreachable', LATE[this.#peer], { cause: thrown });
    } finally {
      clearTimeout(timer);
    }
  }

  /** Yields the `watched` parts of an answer as they arrive; ends with the answer, or when the signal aborts. */
  async *stream(method: string, params: JsonObject, signal: AbortSignal): AsyncGenerator<JsonObject> {
    const forget = onAbort(signal, () => this.#socket.destroy());
    try {
      await this.#greet(method);
      this.#socket.write(encode({ method, params }));
      for (;;) {
        const line = await this.#next();
        if (!isObject(line.watched)) {
          this.#result(line);
          return;
        }
        yield line.watched;
      }
    } catch (thrown) {
      if (!signal.aborted) throw thrown;
    } finally {
      forget();
      this.close();
    }
  }

  /** Opens another connection to the same socket. */
  async another(): Promise<ControlLink> {
    const link = await ControlLink.open(this.#path, this.#peer);
    if (link === undefined) throw this.#gone();
    return link;
  }

  /** Resolves when the process has closed the connection. */
  async disconnected(): Promise<void> {
    while ((await this.#lines.next()).done !== true);
  }

  close(): void {
    this.#socket.destroy();
  }

  /** The handshake: rejects before a process of another version receives a request. */
  async #greet(method: string): Promise<void> {
    this.#greeting ??= this.#hello();
    const greeting = await this.#greeting;
    if (!UNVERSIONED_METHODS.has(method)) refuseOtherVersion(greeting, this.#peer);
  }

  async #hello(): Promise<Greeting> {
    this.#socket.write(encode({ method: HELLO, params: { protocol: CONTROL_VERSION } }));
    const line = await this.#next();
    const greeting = greetingIn(line);
    if (greeting === undefined) throw errorIn(line.error);
    return greeting;
  }

  async #next(): Promise<JsonObject> {
    const { value, done } = await this.#lines.next();
    if (done === true) throw this.#gone();
    return value;
  }

  #gone(): PolypodError {
    return new PolypodError('unreachable', GONE[this.#peer]);
  }

  #result(line: JsonObject): JsonObject {
    if (isObject(line.result)) return line.result;
    throw errorIn(line.error);
  }
}

const SOON_MS = 5000;

const LATE: Readonly<Record<ControlPeer, string>> = {
  daemon: `the daemon does not answer within ${SOON_MS / 1000} s: see polypod logs; if it hangs, end its process`,
  host: `the process that has the session open does not answer within ${SOON_MS / 1000} s: if it hangs, end it`,
};

const GONE: Readonly<Record<ControlPeer, string>> = {
  daemon: 'the daemon closed the connection: see polypod status and polypod logs',
  host: 'the process that had the session open has ended',
};

async function* linesFrom(socket: Socket): AsyncGenerator<JsonObject> {
  const reader = new LineReader();
  try {
    for await (const piece of socket) {
      for (const text of reader.push(piece)) {
        const line = tryParse(text);
        if (isObject(line)) yield line;
      }
    }
  } catch {
    // A broken connection is handled as its end.
  }
}
