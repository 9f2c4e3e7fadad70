import type { Writable } from 'node:stream';
import { isObject, messageOf, PolypodError, readMessage } from '../../base/index.ts';
import { type RpcError, rpcError, rpcResult, RPC_CODES } from '../../wire/index.ts';
import { ACP_CODES } from './wire.ts';

/** Performs the requests and notifications of the client. */
export interface PeerHandlers {
  /** Resolves with the result. The signal aborts if the client cancels the request. */
  readonly request: (method: string, params: unknown, signal: AbortSignal) => Promise<unknown>;
  readonly notification: (method: string, params: unknown) => void;
  readonly toRpcError: (thrown: unknown) => RpcError;
}

interface PendingRequest {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: PolypodError) => void;
}

/** One side of a JSON-RPC connection on which both sides send requests, one object per line. */
export class Peer {
  readonly #output: Writable;
  readonly #handlers: PeerHandlers;
  readonly #sent = new Map<number, PendingRequest>();
  /** The requests of the client that are not answered, by id. */
  readonly #received = new Map<string, AbortController>();
  #nextId = 0;
  #onAnswer = (): void => {};
  #isOver = false;

  constructor(output: Writable, handlers: PeerHandlers) {
    this.#output = output;
    this.#handlers = handlers;
    output.on('close', () => this.close());
    // The client has disconnected: its input ends, too.
    output.on('error', () => this.close());
  }

  /** Whether the client has disconnected. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** The number of requests of the client that are not answered. */
  get unanswered(): number {
    return this.#received.size;
  }

  /** Resolves when at most this many requests of the client are not answered, or the client has disconnected. */
  async answered(most: number): Promise<void> {
    while (this.#received.size > most && !this.#isOver)
      await new Promise<void>((resolve) => {
        this.#onAnswer = resolve;
      });
  }

  /** Handles a line. Requests start in the order of their lines. */
  receive(line: string): void {
    const read = readMessage(line);
    if ('problem' in read) {
      const isDeep = read.problem === 'too-deep';
      const code = isDeep ? RPC_CODES.invalidRequest : RPC_CODES.parseError;
      this.#write(rpcError({ code, message: isDeep ? read.reason : 'Parse error' }, 'null'));
      return;
    }
    const { value } = read;
    if (!isObject(value) || value.jsonrpc !== '2.0') {
      this.#refuse(Array.isArray(value) ? 'batches are not supported' : 'must be a JSON-RPC 2.0 object');
      return;
    }
    const { id, method, params } = value;
    if (!isId(id)) {
      this.#refuse('id must be a string, a number or null');
      return;
    }
    if (typeof method === 'string') this.#call(method, params, id);
    else if ('result' in value || 'error' in value) this.#settle(id, value.result, value.error);
    else this.#refuse('method must be a string', JSON.stringify(id ?? null));
  }

  notify(method: string, params: object): void {
    this.#write(JSON.stringify({ jsonrpc: '2.0', method, params }));
  }

  /** Writes a complete message. */
  write(text: string): void {
    this.#write(text);
  }

  /** Sends a request. If the signal aborts, the request is withdrawn and the promise rejects. */
  request(method: string, params: object, signal: AbortSignal): Promise<unknown> {
    if (this.#isOver || signal.aborted) return Promise.reject(disconnected());
    const id = this.#nextId;
    this.#nextId += 1;
    return new Promise((resolve, reject) => {
      const withdraw = (): void => {
        if (!this.#sent.delete(id)) return;
        this.notify('$/cancel_request', { requestId: id });
        reject(new PolypodError('conflict', `the request ${method} was withdrawn`));
      };
      signal.addEventListener('abort', withdraw, { once: true });
      const settle =
        <T>(use: (value: T) => void) =>
        (value: T): void => {
          signal.removeEventListener('abort', withdraw);
          use(value);
        };
      this.#sent.set(id, { resolve: settle(resolve), reject: settle(reject) });
      this.#write(JSON.stringify({ jsonrpc: '2.0', id, method, params }));
    });
  }

  /** Collects the output until it is released, and then writes it at once. */
  hold(): () => void {
    this.#output.cork();
    return () => this.#output.uncork();
  }

  /** Resolves when the client has read the output, or has disconnected. */
  drained(): Promise<void> {
    if (this.#isOver || !this.#output.writableNeedDrain) return Promise.resolve();
    return new Promise((resolve) => {
      const done = (): void => {
        for (const event of ['drain', 'close', 'error']) this.#output.off(event, done);
        resolve();
      };
      for (const event of ['drain', 'close', 'error']) this.#output.on(event, done);
    });
  }

  /** Rejects all unanswered requests to the client. Those of the client go on: a lost connection cancels nothing. */
  close(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    for (const { reject } of this.#sent.values()) reject(disconnected());
    this.#sent.clear();
    this.#onAnswer();
  }

  #call(method: string, params: unknown, id: unknown): void {
    if (id === undefined) {
      if (method === '$/cancel_request') this.#cancel(params);
      else this.#handlers.notification(method, params);
      return;
    }
    const key = JSON.stringify(id);
    // An answer with this id would be taken for the answer to the first request.
    if (this.#received.has(key)) return this.#refuse(`a request with the id ${key} is not answered yet`);
    const controller = new AbortController();
    this.#received.set(key, controller);
    void this.#handlers
      .request(method, params, controller.signal)
      .then(
        (result) => rpcResult(result, key),
        (thrown: unknown) => rpcError(this.#handlers.toRpcError(thrown), key),
      )
      .then((text) => {
        this.#received.delete(key);
        this.#write(text);
        this.#onAnswer();
      });
  }

  #cancel(params: unknown): void {
    const { requestId } = isObject(params) ? params : {};
    this.#received.get(JSON.stringify(requestId ?? null))?.abort();
  }

  /** Answers a message that is not a valid request. */
  #refuse(reason: string, key = 'null'): void {
    this.#write(rpcError({ code: RPC_CODES.invalidRequest, message: `Invalid request: ${reason}` }, key));
  }

  #settle(id: unknown, result: unknown, error: unknown): void {
    const request = typeof id === 'number' ? this.#sent.get(id) : undefined;
    if (request === undefined || typeof id !== 'number') return;
    this.#sent.delete(id);
    if (error === undefined || error === null) request.resolve(result);
    else request.reject(new PolypodError('unreachable', clientMessage(error), { cause: error }));
  }

  #write(text: string): void {
    if (!this.#isOver) this.#output.write(`${text}\n`);
  }
}

function isId(id: unknown): boolean {
  return id === undefined || id === null || typeof id === 'string' || typeof id === 'number';
}

function clientMessage(error: unknown): string {
  const { message, code } = isObject(error) ? error : {};
  const reason = typeof message === 'string' && message !== '' ? message : messageOf(error);
  return code === ACP_CODES.cancelled ? 'the client cancelled the request' : reason;
}

function disconnected(): PolypodError {
  return new PolypodError('unreachable', 'the client has disconnected');
}
