import type { Decision } from './decision.ts';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { type JsonObject, onAbort, PolypodError, stringOf } from '../base/index.ts';
import { connectUnix, lineReader } from '../wire/index.ts';
import { type Backoff, backoffMs, DEFAULT_BACKOFF } from './backoff.ts';
import { Calls } from './calls.ts';
import { Inbox } from './inbox.ts';
import { errorIn, type PodLine, readLine, REFUSED } from './line.ts';
import { ResumePoint } from './resume-point.ts';

export interface PodClientOptions {
  /** The pod's socket, or the daemon's. */
  readonly path: string;
  /** With the daemon's socket: which pod, by id or name. */
  readonly pod?: string;
  /** The last number that was seen, to go on from; without one a snapshot comes first. */
  readonly after?: number;
  /** Who it is, as others are told. */
  readonly name?: string;
  readonly backoff?: Backoff;
  /** How often in a row it tries to come back before it gives up; for ever unless told. */
  readonly attempts?: number;
  /** Closes the client. */
  readonly signal?: AbortSignal;
  /** Told when the connection breaks and when it is back. */
  readonly onConnection?: (state: 'connected' | 'lost') => void;
}

export interface RunOptions {
  readonly images?: readonly { readonly media_type: string; readonly data: string }[];
  readonly when_busy?: 'refuse' | 'queue' | 'steer' | 'follow_up';
  readonly overrides?: JsonObject;
}

/** Lines that may wait for the reader before the pod is asked to wait. */
const ROOM = 1_000;

/**
 * A client of one pod. Its events are one stream, each number once and in order, however often the connection breaks; where
 * the pod no longer has what was missed, a `snapshot` stands in its place. A call that was cut off is sent again and done once.
 */
export class PodClient {
  readonly #options: PodClientOptions;
  readonly #point: ResumePoint;
  readonly #calls = new Calls();
  readonly #inbox = new Inbox<PodLine>(ROOM, () => this.#socket?.resume());
  readonly #closing = new AbortController();
  #socket: Socket | undefined;
  /** Whether this connection has answered: before that it tells what nobody asked for. */
  #isSubscribed = false;
  /** Why the pod could not be served last, if it said so. */
  #reason: PolypodError | undefined;
  #over: Promise<void> = Promise.resolve();

  /** Resolves when it is connected; refuses when nobody listens there. */
  static async open(options: PodClientOptions): Promise<PodClient> {
    const socket = await connectUnix(options.path);
    if (socket === undefined)
      throw new PolypodError(
        'not-found',
        `nobody listens on ${options.path}: is the pod, or the daemon, running?`,
      );
    const client = new PodClient(options);
    client.#over = client.#stay(socket);
    return client;
  }

  private constructor(options: PodClientOptions) {
    this.#options = options;
    this.#point = new ResumePoint(options.after);
    if (options.signal !== undefined) onAbort(options.signal, () => void this.close());
  }

  /** The number to go on after, for a client of the same pod that comes later. */
  get after(): number | undefined {
    return this.#point.after;
  }

  /** All that the pod tells, for one reader. Ends when the client is closed; throws when there is no way back. */
  events(): AsyncGenerator<PodLine> {
    return this.#inbox.read();
  }

  /** Sends a method and resolves with what answers it; throws what it was refused with. */
  call(method: string, params?: JsonObject): Promise<PodLine> {
    if (this.#closing.signal.aborted) return Promise.reject(closed());
    return this.#calls.begin(method, params, (line) => {
      if (this.#socket?.writable === true) this.#socket.write(`${line}\n`);
    });
  }

  /** Begins a run; resolves with its id when it has begun. */
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

  async status(): Promise<JsonObject> {
    return (await this.call('get_status')).data;
  }

  async history(): Promise<readonly unknown[]> {
    const { items } = (await this.call('get_history')).data;
    return Array.isArray(items) ? items : [];
  }

  /** Leaves; what runs goes on. */
  async close(): Promise<void> {
    this.#end(undefined);
    await this.#over;
  }

  async #stay(first: Socket): Promise<void> {
    const {
      path,
      backoff = DEFAULT_BACKOFF,
      attempts = Number.POSITIVE_INFINITY,
      onConnection,
    } = this.#options;
    let failed = 0;
    for (let socket: Socket | undefined = first; ; socket = await connectUnix(path).catch(() => undefined)) {
      if (socket !== undefined && (await this.#converse(socket))) {
        failed = 0;
        this.#reason = undefined;
        onConnection?.('lost');
      }
      if (this.#closing.signal.aborted) return;
      if ((failed += 1) > attempts) this.#end(unreachable(path, attempts, this.#reason));
      const { signal } = this.#closing;
      await sleep(backoffMs(backoff, failed - 1, Math.random()), undefined, { signal }).catch(() => {});
      if (signal.aborted) return;
    }
  }

  /** Until the connection breaks; whether it was ever of use. */
  async #converse(socket: Socket): Promise<boolean> {
    this.#socket = socket;
    this.#isSubscribed = false;
    if (this.#closing.signal.aborted) socket.destroy();
    const closing = new Promise<void>((resolve) => {
      if (socket.destroyed) resolve();
      else socket.once('close', () => resolve());
    });
    const lines = lineReader();
    socket.on('error', () => socket.destroy());
    socket.on('end', () => socket.destroy());
    socket.on('data', (bytes) => {
      for (const text of lines.push(Buffer.from(bytes))) this.#take(text);
      if (this.#inbox.isFull) socket.pause();
    });
    this.#point.begin();
    for (const line of this.#firstLines()) socket.write(`${line}\n`);
    await closing;
    return this.#isSubscribed;
  }

  #firstLines(): readonly string[] {
    const { pod, name } = this.#options;
    const { after } = this.#point;
    const attach = pod === undefined ? [] : [JSON.stringify({ method: 'attach', params: { pod } })];
    const params = { ...(after === undefined ? {} : { after }), ...(name === undefined ? {} : { name }) };
    return [
      ...attach,
      JSON.stringify({ method: 'subscribe', params, request_id: SUBSCRIBE }),
      ...this.#calls.lines(),
    ];
  }

  #take(text: string): void {
    const line = readLine(text);
    if (line === undefined || this.#closing.signal.aborted) return;
    if (line.requestId === SUBSCRIBE && line.event !== 'error') {
      if (!this.#isSubscribed) this.#options.onConnection?.('connected');
      this.#isSubscribed = true;
    }
    if (!this.#isSubscribed) {
      // Told before it was asked for, unless it is a refusal: that is for good.
      if (line.event === REFUSED || (line.event === 'error' && line.requestId === SUBSCRIBE))
        this.#end(errorIn(line));
      // Why the pod cannot be served now; that may pass.
      else if (line.event === 'error') this.#reason = errorIn(line);
      return;
    }
    if (this.#calls.settle(line) || line.event === 'subscribed') return;
    if (this.#point.isNew(line)) this.#inbox.push(line);
  }

  #end(error: PolypodError | undefined): void {
    this.#closing.abort();
    this.#socket?.destroy();
    this.#calls.fail(error ?? closed());
    this.#inbox.end(error);
  }
}

const SUBSCRIBE = 'subscribe';

function closed(): PolypodError {
  return new PolypodError('conflict', 'the client is closed: open another one');
}

function unreachable(path: string, attempts: number, reason: PolypodError | undefined): PolypodError {
  if (reason === undefined)
    return new PolypodError('not-found', `nobody answers on ${path} any more: tried ${attempts} times`);
  const message = `the pod on ${path} cannot be served, after ${attempts} attempts: ${reason.message}`;
  return new PolypodError(reason.code, message);
}
