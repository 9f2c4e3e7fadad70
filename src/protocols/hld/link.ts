import type { Socket } from 'node:net';
import { asPolypodError, PolypodError } from '../../base/index.ts';
import {
  answerRpc,
  ByteLines,
  NO_ID,
  parseRpcLine,
  RPC_CODES,
  type RpcCall,
  rpcError,
} from '../../wire/index.ts';
import type { Backlog, ClientOutput } from './events/backlog.ts';
import { rpcErrorOf } from './errors.ts';
import { Params } from './params.ts';
import { filterIn, type Subscriptions } from './events/subscriptions.ts';

export interface LinkParts {
  readonly serve: (call: RpcCall) => Promise<unknown>;
  readonly subscriptions: Subscriptions;
  readonly backlog: Backlog;
  /** Called for every request that is refused. */
  readonly onRefused?: () => void;
  /** Reports an internal error. */
  readonly onInternalError: (error: PolypodError, method: string) => void;
}

/** The maximum length of a line. The protocol guarantees 10 MiB. */
const LONGEST_LINE = 16 * 1024 * 1024;

const NEWLINE = 10;

/**
 * Serves one client. Requests are handled one after the other and answered in order. While one is in progress, or its answer is unread, no
 * more input is read. The server sends nothing else unless the client subscribes; after that, further input is ignored.
 */
export async function serveLink(socket: Socket, parts: LinkParts): Promise<void> {
  const link = new Link(socket, parts);
  socket.on('error', () => {});
  try {
    await link.read();
    socket.end();
  } catch {
    // The client disconnected during a request.
    socket.destroy();
  } finally {
    link.leave();
  }
}

class Link {
  readonly #socket: Socket;
  readonly #parts: LinkParts;
  readonly #outlet: ClientOutput;
  #lines = new ByteLines(LONGEST_LINE);
  #isSkipping = false;
  #unsubscribe: (() => void) | undefined;

  constructor(socket: Socket, parts: LinkParts) {
    this.#socket = socket;
    this.#parts = parts;
    this.#outlet = parts.backlog.outlet(socket);
  }

  async read(): Promise<void> {
    // A client that has ended its input may still read.
    const chunks: AsyncIterable<Buffer> = this.#socket.iterator({ destroyOnReturn: false });
    for await (const bytes of chunks) if (this.#unsubscribe === undefined) await this.#take(bytes);
    if (this.#unsubscribe === undefined && !this.#isSkipping)
      for (const line of this.#lines.end()) await this.#receive(line);
  }

  leave(): void {
    this.#unsubscribe?.();
  }

  /** Refuses a line that is too long at once, skips the rest of it, and continues with the next line. */
  async #take(bytes: Buffer): Promise<void> {
    const from = this.#isSkipping ? bytes.indexOf(NEWLINE) + 1 : 0;
    if (this.#isSkipping && from === 0) return;
    this.#isSkipping = false;
    let lines: readonly (string | PolypodError)[];
    try {
      lines = this.#lines.push(bytes.subarray(from));
    } catch (thrown) {
      this.#lines = new ByteLines(LONGEST_LINE);
      this.#isSkipping = true;
      const { message } = asPolypodError(thrown);
      await this.#refuse(
        rpcError({ code: RPC_CODES.invalidRequest, message: `Invalid request: ${message}` }, NO_ID),
      );
      return;
    }
    for (const line of lines) await this.#receive(line);
  }

  async #receive(line: string | PolypodError): Promise<void> {
    if (this.#unsubscribe !== undefined) return;
    if (line instanceof PolypodError) {
      await this.#refuse(rpcError({ code: RPC_CODES.parseError, message: 'Parse error' }, NO_ID));
      return;
    }
    const read = parseRpcLine(line);
    if (!read.isBatch && !('error' in read.message) && read.message.method === SUBSCRIBE) {
      await this.#subscribe(read.message);
      return;
    }
    for (const message of read.isBatch ? read.messages : [read.message])
      if ('error' in message) this.#parts.onRefused?.();
    await this.#parts.backlog.room();
    const reply = await answerRpc(read, {
      serve: (call) => this.#serve(call),
      toRpcError: (thrown) => {
        this.#parts.onRefused?.();
        return rpcErrorOf(thrown);
      },
    });
    if (reply !== undefined) await this.#write(reply);
  }

  async #serve(call: RpcCall): Promise<unknown> {
    if (call.method === SUBSCRIBE)
      throw new PolypodError('conflict', 'Subscribe needs a separate connection');
    try {
      return await this.#parts.serve(call);
    } catch (thrown) {
      const error = asPolypodError(thrown);
      if (error.code === 'internal') this.#parts.onInternalError(error, call.method);
      throw error;
    }
  }

  async #subscribe({ params, id = NO_ID }: RpcCall): Promise<void> {
    const socket = this.#socket;
    try {
      const filter = filterIn(new Params(params));
      this.#outlet.isSubscriber = true;
      this.#unsubscribe = this.#parts.subscriptions.add(filter, (chunk) => this.#outlet.publish(chunk));
    } catch (thrown) {
      await this.#refuse(rpcError(rpcErrorOf(thrown), id));
      socket.end();
    }
  }

  async #refuse(reply: string): Promise<void> {
    this.#parts.onRefused?.();
    await this.#write(reply);
  }

  async #write(reply: string): Promise<void> {
    await this.#outlet.answer(`${reply}\n`);
    // The remaining requests of the client are discarded.
    if (this.#socket.destroyed) throw new PolypodError('conflict', 'the client has disconnected');
  }
}

const SUBSCRIBE = 'Subscribe';
