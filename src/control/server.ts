import { once } from 'node:events';
import type { Server, Socket } from 'node:net';
import { type JsonObject, type Log, messageOf, PolypodError, tryOrUndefined } from '../base/index.ts';
import { containFailures, drained, listenUnix } from '../wire/index.ts';
import { RequestLines } from './request-lines.ts';
import { CONTROL_VERSION, type ControlPeer, HELLO } from './handshake.ts';
import { encode, encodeError, type ControlRequest, readQuestion } from './line.ts';

/** A method: returns one answer; sends `watched` lines before it, as fast as the client reads. */
export type Method = (params: JsonObject, link: LinkSide) => Promise<JsonObject>;

export interface LinkSide {
  /** Aborts when the client has disconnected. */
  readonly signal: AbortSignal;
  /** Writes complete lines; resolves when the socket can take more. */
  readonly send: (lines: string) => Promise<void>;
}

/** Takes over a connection permanently: from then on, the door owns the socket. */
export type ConnectionHandover = (socket: Socket, params: JsonObject, head: Uint8Array) => Promise<void>;

export interface ControlServerOptions {
  readonly path: string;
  /** Whether this process is the daemon, or a command that hosts its pods itself. */
  readonly serves: ControlPeer;
  /** The version of Polypod, for the handshake. */
  readonly version: string;
  readonly methods: Readonly<Record<string, Method>>;
  /** Methods that change the protocol of a connection, as its first line or the first after the handshake. */
  readonly takeOvers: Readonly<Record<string, ConnectionHandover>>;
  readonly log: Log;
  /** Reports an unexpected error that has ended a connection. */
  readonly caught: (thrown: unknown) => void;
}

/** Serves the control protocol on a socket, so that commands can use the pods of this process. */
export class ControlServer {
  readonly #options: ControlServerOptions;
  readonly #methods: Readonly<Record<string, Method>>;
  readonly #sockets = new Set<Socket>();
  #server: Server | undefined;

  constructor(options: ControlServerOptions) {
    this.#options = options;
    const greeting = { protocol: CONTROL_VERSION, version: options.version, pid: process.pid };
    this.#methods = { [HELLO]: async () => greeting, ...options.methods };
  }

  async listen(): Promise<void> {
    this.#server = await listenUnix(this.#options.path, (socket) => this.#accept(socket), {
      refusal: (message) => encodeError(new PolypodError('denied', message)),
    });
  }

  /** Stops accepting connections, closes the open ones after their last answer, and removes the socket file. */
  async close(): Promise<void> {
    const server = this.#server;
    if (server === undefined) return;
    const closed = once(server, 'close');
    server.close();
    // Otherwise a connection that is not read would stay half-open.
    for (const socket of this.#sockets) socket.end(() => socket.destroy());
    // A client that does not read must not delay the end of the process.
    const patience = setTimeout(() => this.#destroyAll(), PATIENCE_MS);
    await closed;
    clearTimeout(patience);
  }

  #destroyAll(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  #accept(socket: Socket): void {
    this.#sockets.add(socket);
    containFailures(socket, this.#options.caught);
    socket.on('close', () => this.#sockets.delete(socket));
    socket.on('error', () => socket.destroy());
    this.#serve(socket).catch((thrown: unknown) => {
      this.#options.log.debug('a control connection failed', { reason: messageOf(thrown) });
      socket.destroy();
    });
  }

  async #serve(socket: Socket): Promise<void> {
    const intake = new RequestLines(socket);
    const gone = new AbortController();
    // A client that has ended still receives pending answers, but no endless stream.
    socket.on('end', () => gone.abort());
    socket.on('close', () => gone.abort());
    const link: LinkSide = { signal: gone.signal, send: (lines) => written(socket, lines) };
    for (let isFirst = true; ; ) {
      const text = await intake.next();
      if (text === undefined) break;
      const first: ControlRequest | undefined = isFirst
        ? tryOrUndefined(() => readQuestion(text))
        : undefined;
      const take = first === undefined ? undefined : own(this.#options.takeOvers, first.method);
      if (first !== undefined && take !== undefined) {
        await this.#handOver(socket, { take, params: first.params }, intake.detach());
        return;
      }
      isFirst = first?.method === HELLO;
      await link.send(await this.#answer(text, link));
    }
    socket.end();
  }

  async #handOver(
    socket: Socket,
    { take, params }: { readonly take: ConnectionHandover; readonly params: JsonObject },
    head: Uint8Array,
  ): Promise<void> {
    try {
      await take(socket, params, head);
    } catch (thrown) {
      socket.end(encodeError(thrown));
    }
  }

  async #answer(text: string, link: LinkSide): Promise<string> {
    try {
      const { method, params } = readQuestion(text);
      this.#options.log.debug('control', { method });
      const run = own(this.#methods, method);
      if (run === undefined) throw this.#unknown(method);
      return encode({ result: await run(params, link) });
    } catch (thrown) {
      return encodeError(thrown);
    }
  }

  #unknown(method: string): PolypodError {
    const where =
      this.#options.serves === 'daemon' ? '' : ` in process ${process.pid}, which is not a daemon`;
    const known = Object.keys(this.#methods).join(', ');
    return new PolypodError('unknown-method', `there is no method "${method}"${where}: there are ${known}`);
  }
}

async function written(socket: Socket, lines: string): Promise<void> {
  if (!socket.destroyed && !socket.write(lines)) await drained(socket);
}

const PATIENCE_MS = 1000;

function own<T>(table: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}
