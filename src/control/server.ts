import { once } from 'node:events';
import type { Server, Socket } from 'node:net';
import { type JsonObject, type Log, messageOf, PolypodError } from '../base/index.ts';
import { containFailures, listenUnix } from '../wire/index.ts';
import { Intake } from './intake.ts';
import { encode, encodeError, readQuestion } from './line.ts';

/** What a method does: answers once; what it sends before that goes out as `watched` lines, as fast as the client reads. */
export type Method = (params: JsonObject, link: LinkSide) => Promise<JsonObject>;

export interface LinkSide {
  /** Fires when the client is gone. */
  readonly signal: AbortSignal;
  /** Writes whole lines; resolves when there is room for more. */
  readonly send: (lines: string) => Promise<void>;
}

/** Takes a link over for good: the socket is the door's from then on. */
export type TakeOver = (socket: Socket, params: JsonObject, head: Uint8Array) => Promise<void>;

export interface ControlServerOptions {
  readonly path: string;
  readonly methods: Readonly<Record<string, Method>>;
  /** Methods that, as the first line of a link, make it something else. */
  readonly takeOvers: Readonly<Record<string, TakeOver>>;
  readonly log: Log;
  /** Reports an unexpected error that has ended a connection. */
  readonly caught: (thrown: unknown) => void;
}

/** The daemon's own socket. */
export class ControlServer {
  readonly #options: ControlServerOptions;
  readonly #sockets = new Set<Socket>();
  #server: Server | undefined;

  constructor(options: ControlServerOptions) {
    this.#options = options;
  }

  async listen(): Promise<void> {
    this.#server = await listenUnix(this.#options.path, (socket) => this.#accept(socket), {
      refusal: (message) => encodeError(new PolypodError('denied', message)),
    });
  }

  /** No new links; those that are open end once their last answer is out. The socket's file goes with it. */
  async close(): Promise<void> {
    const server = this.#server;
    if (server === undefined) return;
    const closed = once(server, 'close');
    server.close();
    for (const socket of this.#sockets) socket.end();
    // A client that does not read must not hold the daemon.
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
      this.#options.log.debug('a control link failed', { reason: messageOf(thrown) });
      socket.destroy();
    });
  }

  async #serve(socket: Socket): Promise<void> {
    const intake = new Intake(socket);
    const gone = new AbortController();
    // Who has said all wants its answers still, but no stream without an end.
    socket.on('end', () => gone.abort());
    socket.on('close', () => gone.abort());
    const link: LinkSide = { signal: gone.signal, send: (lines) => written(socket, lines) };
    for (let count = 0; ; count += 1) {
      const text = await intake.next();
      if (text === undefined) break;
      const takeOver = count === 0 ? this.#takeOver(text) : undefined;
      if (takeOver !== undefined) {
        await this.#handOver(socket, takeOver, intake.detach());
        return;
      }
      await link.send(await this.#answer(text, link));
    }
    socket.end();
  }

  #takeOver(text: string): { readonly take: TakeOver; readonly params: JsonObject } | undefined {
    const question = attempt(() => readQuestion(text));
    const take = question === undefined ? undefined : own(this.#options.takeOvers, question.method);
    return take === undefined || question === undefined ? undefined : { take, params: question.params };
  }

  async #handOver(
    socket: Socket,
    { take, params }: { readonly take: TakeOver; readonly params: JsonObject },
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
      const run = own(this.#options.methods, method);
      if (run === undefined)
        throw new PolypodError(
          'unknown-method',
          `there is no method "${method}": there are ${Object.keys(this.#options.methods).join(', ')}`,
        );
      return encode({ result: await run(params, link) });
    } catch (thrown) {
      return encodeError(thrown);
    }
  }
}

async function written(socket: Socket, lines: string): Promise<void> {
  if (socket.destroyed || socket.write(lines)) return;
  await new Promise<void>((resolve) => {
    socket.once('drain', resolve);
    socket.once('close', resolve);
  });
}

const PATIENCE_MS = 1000;

function own<T>(table: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}

function attempt<T>(action: () => T): T | undefined {
  try {
    return action();
  } catch {
    return undefined;
  }
}
