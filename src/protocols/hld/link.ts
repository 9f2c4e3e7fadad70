import type { Socket } from 'node:net';
import { asPolypodError, PolypodError } from '../../base/index.ts';
import {
  answerRpc,
  LineReader,
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

/** The answer to a line that is not UTF-8, or that is too long: then the rest of it is skipped. */
interface Refusal {
  readonly reply: string;
}

class Link {
  readonly #socket: Socket;
  readonly #parts: LinkParts;
  readonly #outlet: ClientOutput;
  readonly #lines = new LineReader<Refusal>({
    limit: { maxBytes: LONGEST_LINE },
    utf8: 'reject',
    onInvalid: ({ message }, problem) =>
      problem === 'too-long'
        ? {
            reply: rpcError(
              { code: RPC_CODES.invalidRequest, message: `Invalid request: ${message}` },
              NO_ID,
            ),
          }
        : { reply: rpcError({ code: RPC_CODES.parseError, message: 'Parse error' }, NO_ID) },
  });
  #unsubscribe: (() => void) | undefined;

  constructor(socket: Socket, parts: LinkParts) {
    this.#socket = socket;
    this.#parts = parts;
    this.#outlet = parts.backlog.outlet(socket);
  }

  async read(): Promise<void> {
    // A client that has ended its input may still read.
    const chunks: AsyncIterable<Buffer> = this.#socket.iterator({ destroyOnReturn: false });
    for await (const bytes of chunks)
      if (this.#unsubscribe === undefined)
        for (const line of this.#lines.push(bytes)) await this.#receive(line);
    for (const line of this.#lines.end()) await this.#receive(line);
  }

  leave(): void {
    this.#unsubscribe?.();
  }

  async #receive(line: string | Refusal): Promise<void> {
    if (this.#unsubscribe !== undefined) return;
    if (typeof line !== 'string') return this.#refuse(line.reply);
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
