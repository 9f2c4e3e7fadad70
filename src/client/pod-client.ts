import type { Decision } from './decision.ts';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import {
  asPolypodError,
  DAEMON_SOCKET,
  dataDirectoryFrom,
  type JsonObject,
  onAbort,
  PolypodError,
  socketDirectory,
  stringOf,
  withoutUndefined,
} from '../base/index.ts';
import { type Backoff, connectUnix, DEFAULT_BACKOFF, LineReader, reconnectingStream } from '../wire/index.ts';
import { PendingCalls } from './pending-calls.ts';
import { EventQueue } from './event-queue.ts';
import type { WireItem, WireStatus } from '../protocols/pod/wire.ts';
import { lineError, type PodLine, type PodReply, parseLine, REFUSED_EVENT } from './line.ts';
import { ResumePoint } from './resume-point.ts';

export interface PodClientOptions {
  /** The pod's socket, or the daemon's; without it, `env` determines the daemon's. */
  readonly path?: string;
  /** With the daemon's socket: which pod, by id or name. */
  readonly pod?: string;
  /** The environment that determines the daemon's socket, as for the `polypod` command: `process.env`. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** The last event number that was received, to resume after; without it, the first line is a snapshot. */
  readonly after?: number;
  /** The client's name, which other clients see. */
  readonly name?: string;
  readonly backoff?: Backoff;
  /** The number of consecutive failed attempts to reconnect before the client gives up; default: no limit. */
  readonly attempts?: number;
  /** Closes the client. */
  readonly signal?: AbortSignal;
  /** Called when the connection is lost and when it is restored. */
  readonly onConnection?: (state: 'connected' | 'lost') => void;
}

export interface RunOptions {
  readonly images?: readonly { readonly media_type: string; readonly data: string }[];
  readonly when_busy?: 'refuse' | 'queue' | 'steer' | 'follow_up';
  readonly overrides?: JsonObject;
}

/** The number of unread lines at which the client stops reading its socket. */
const QUEUE_CAPACITY = 1_000;

/**
 * A client of one pod. Its events form one stream, each number once and in order, across reconnects; if the pod no longer has
 * the missed events, the stream continues with a `snapshot`. An interrupted call is sent again and performed once.
 */
export class PodClient {
  readonly #options: PodClientOptions;
  readonly #path: string;
  readonly #resumePoint: ResumePoint;
  readonly #calls = new PendingCalls();
  readonly #queue = new EventQueue<PodLine>(QUEUE_CAPACITY);
  readonly #closing = new AbortController();
  #socket: Socket | undefined;
  /** Whether this connection has confirmed the subscription. Earlier lines are ignored. */
  #isSubscribed = false;
  /** The pod's latest reason for closing a connection without a subscription, which may be temporary. */
  #reason: PolypodError | undefined;
  /** A permanent error. */
  #refusal: PolypodError | undefined;
  #done: Promise<void> = Promise.resolve();

  /** Resolves when it is connected; rejects if the socket does not accept connections. */
  static async open(options: PodClientOptions): Promise<PodClient> {
    const path = options.path ?? daemonSocket(options);
    const socket = await connectUnix(path);
    if (socket === undefined)
      throw new PolypodError(
        'not-found',
        `cannot connect to ${path}: start the daemon with polypod serve, or give the path of a pod's socket`,
      );
    const client = new PodClient(options, path);
    client.#done = client.#keepConnected(socket);
    return client;
  }

  private constructor(options: PodClientOptions, path: string) {
    this.#options = options;
    this.#path = path;
    this.#resumePoint = new ResumePoint(options.after);
    if (options.signal !== undefined) onAbort(options.signal, () => void this.close());
  }

  /** The number to resume after, for a later client of the same pod. */
  get after(): number | undefined {
    return this.#resumePoint.after;
  }

  /** The events of the pod, for one reader. Ends when the client is closed; throws if it cannot reconnect. */
  events(): AsyncGenerator<PodLine> {
    return this.#queue.read();
  }

  /** Calls a method. Resolves with the response; rejects with its error. */
  call(method: string, params?: JsonObject): Promise<PodReply> {
    if (this.#closing.signal.aborted) return Promise.reject(closedError());
    return this.#calls.start(method, params, (line) => {
      if (this.#socket?.writable === true) this.#socket.write(`${line}\n`);
    });
  }

  /** Starts a run and resolves with its id. */
  async run(input: string, options: RunOptions = {}): Promise<string> {
    const { data } = await this.call('run', { input, ...options });
    return stringOf(data.run_id);
  }

  async resume(): Promise<void> {
    await this.call('resume');
  }

  async cancel(): Promise<void> {
    await this.call('cancel');
  }

  async pause(): Promise<void> {
    await this.call('pause');
  }

  async steer(input: string): Promise<void> {
    await this.call('steer', { input });
  }

  async decide(approvalId: string, decision: Decision, more: JsonObject = {}): Promise<void> {
    await this.call('decide', { approval_id: approvalId, decision, ...more });
  }

  async status(): Promise<WireStatus> {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the protocol determines the fields
    return (await this.call('get_status')).data as unknown as WireStatus;
  }

  async history(): Promise<readonly WireItem[]> {
    const { items } = (await this.call('get_history')).data;
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the protocol determines the fields
    return Array.isArray(items) ? (items as readonly WireItem[]) : [];
  }

  /** Closes the connection. A run continues. */
  async close(): Promise<void> {
    this.#finish(undefined);
    await this.#done;
  }

  async #keepConnected(first: Socket): Promise<void> {
    const path = this.#path;
    const { backoff = DEFAULT_BACKOFF, attempts = Number.POSITIVE_INFINITY, onConnection } = this.#options;
    let next: Socket | undefined = first;
    const updates = reconnectingStream<readonly PodLine[], number>({
      position: this.#resumePoint,
      open: async (after) => {
        const socket = next ?? (await connectUnix(path));
        next = undefined;
        return this.#subscribe(socket, after);
      },
      afterEnd: () =>
        this.#refusal === undefined ? { type: 'lost' } : { type: 'fail', error: this.#refusal },
      backoff,
      attempts,
      gaveUp: () => unreachable(path, attempts, this.#reason),
      signal: this.#closing.signal,
    });
    let isConnected = false;
    try {
      for await (const update of updates) {
        if (update.type === 'lost' && isConnected) {
          isConnected = false;
          onConnection?.('lost');
        }
        if (update.type !== 'item') continue;
        if (!isConnected) {
          isConnected = true;
          onConnection?.('connected');
        }
        for (const line of update.item) this.#queue.push(line);
        await this.#queue.room();
      }
    } catch (thrown) {
      this.#finish(asPolypodError(thrown));
    } finally {
      next?.destroy();
    }
  }

  /** Subscribes to the pod's events. Resolves when the pod has confirmed that; rejects if it closes the connection before. */
  async #subscribe(
    socket: Socket | undefined,
    after: number | undefined,
  ): Promise<AsyncIterable<readonly PodLine[]>> {
    this.#isSubscribed = false;
    if (socket === undefined) throw new Error('the pod does not listen');
    this.#socket = socket;
    socket.on('error', () => socket.destroy());
    if (this.#closing.signal.aborted) socket.destroy();
    else for (const line of this.#firstLines(after)) socket.write(`${line}\n`);
    const batches = this.#receive(socket);
    const { value, done } = await batches.next();
    if (done === true) throw new Error('the pod closed the connection');
    return startingWith(value, batches);
  }

  /** Yields the events of a connection in batches, the first one when the subscription is confirmed. */
  async *#receive(socket: Socket): AsyncGenerator<readonly PodLine[], undefined> {
    const lines = new LineReader({
      onInvalid: (error) => {
        this.#refusal = error;
        throw error;
      },
    });
    for await (const bytes of socket) {
      const events = lines.push(bytes).flatMap((text) => this.#eventsIn(text));
      if (this.#refusal !== undefined) throw this.#refusal;
      if (this.#isSubscribed) yield events;
    }
    return undefined;
  }

  /** Handles a line. Returns it if it is an event. */
  #eventsIn(text: string): readonly PodLine[] {
    const line = parseLine(text);
    if (line === undefined || this.#closing.signal.aborted) return [];
    if (line.requestId === SUBSCRIBE && line.event !== 'error') {
      this.#isSubscribed = true;
      this.#reason = undefined;
    }
    if (!this.#isSubscribed) {
      // A refusal is permanent; other lines before the subscription are ignored.
      if (line.event === REFUSED_EVENT || (line.event === 'error' && line.requestId === SUBSCRIBE))
        this.#refusal ??= lineError(line);
      // The pod cannot be served now, which may be temporary.
      else if (line.event === 'error') this.#reason = lineError(line);
      return [];
    }
    if (this.#calls.settle(line) || line.event === 'subscribed') return [];
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the protocol determines the fields of each event
    return [line as unknown as PodLine];
  }

  #firstLines(after: number | undefined): readonly string[] {
    const { pod, name } = this.#options;
    const attach = pod === undefined ? [] : [JSON.stringify({ method: 'attach', params: { pod } })];
    const params = withoutUndefined({ after, name });
    return [
      ...attach,
      JSON.stringify({ method: 'subscribe', params, request_id: SUBSCRIBE }),
      ...this.#calls.lines(),
    ];
  }

  #finish(error: PolypodError | undefined): void {
    this.#closing.abort();
    this.#socket?.destroy();
    this.#calls.fail(error ?? closedError());
    this.#queue.end(error);
  }
}

/** The socket of the daemon, which finds the pod by its name. */
function daemonSocket({ pod, env }: PodClientOptions): string {
  if (pod === undefined || env === undefined)
    throw new PolypodError(
      'bad-request',
      'the pod or the environment is missing: open({ pod: NAME, env }), or open({ path: SOCKET })',
    );
  return join(socketDirectory(env, dataDirectoryFrom(env)), DAEMON_SOCKET);
}

const SUBSCRIBE = 'subscribe';

async function* startingWith<T>(first: T, rest: AsyncIterable<T>): AsyncGenerator<T> {
  yield first;
  yield* rest;
}

function closedError(): PolypodError {
  return new PolypodError('conflict', 'the client is closed: open another one');
}

function unreachable(path: string, attempts: number, reason: PolypodError | undefined): PolypodError {
  if (reason === undefined)
    return new PolypodError('not-found', `cannot reconnect to ${path}: ${attempts} attempts failed`);
  const message = `the pod on ${path} cannot be served, after ${attempts} attempts: ${reason.message}`;
  return new PolypodError(reason.code, message);
}
