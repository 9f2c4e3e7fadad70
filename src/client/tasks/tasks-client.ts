import type { Decision } from '../decision.ts';
import {
  asPolypodError,
  derivedAbort,
  type JsonObject,
  PolypodError,
  uuidv7,
  withoutUndefined,
} from '../../base/index.ts';
import {
  type Backoff,
  DEFAULT_BACKOFF,
  httpRefusalFrom,
  httpTransport,
  type Transport,
  waitBeforeAttempt,
} from '../../wire/index.ts';
import { EventReader } from './event-reader.ts';
import {
  requestJson,
  CUT,
  connectionLostError,
  connectionErrorCode,
  isTransientError,
  openStream,
  noDataError,
  type TasksServer,
} from './exchange.ts';
import {
  parseApprovals,
  type TaskApproval,
  type ListedTask,
  parseStatus,
  parseSubmission,
  type SubmittedTask,
  type TaskEvent,
  parseTasks,
  type TaskStatus,
  type TaskRequest,
} from './task.ts';

export interface TasksClientOptions {
  readonly url: string;
  readonly key?: string;
  /** A custom transport, for example one that trusts a private certificate. */
  readonly transport?: Transport;
  readonly backoff?: Backoff;
  /** The timeout to open a stream, and the time without data after which its connection counts as lost. */
  readonly openMs?: number;
  readonly idleMs?: number;
  /** Aborts all requests and streams. */
  readonly signal?: AbortSignal;
}

/** The result of requesting a task's events: a stream, `seen` if all were received, or why streaming is not possible. */
export type EventStreamResult =
  | { readonly type: 'open'; readonly events: AsyncIterable<TaskEvent> }
  | { readonly type: 'seen' }
  | { readonly type: 'impossible'; readonly why: string };

/** The maximum number of attempts for a submission whose connection is lost. */
const SUBMIT_ATTEMPTS = 5;
const OPEN_MS = 15_000;
/** Servers send a comment every 15 seconds: after three missing ones the connection counts as lost. */
const IDLE_MS = 45_000;

/** A client for the tasks API. Each method sends one request, except for submissions, which are retried after a lost connection. */
export class TasksClient {
  readonly #server: TasksServer;
  readonly #signal: AbortSignal;
  readonly #openMs: number;
  readonly #silentMs: number;
  readonly backoff: Backoff;

  constructor(options: TasksClientOptions) {
    const { url, key, transport = httpTransport, signal = new AbortController().signal } = options;
    this.#server = { url: url.replace(/\/+$/, ''), key, transport };
    this.#signal = signal;
    this.#openMs = options.openMs ?? OPEN_MS;
    this.#silentMs = options.idleMs ?? IDLE_MS;
    this.backoff = options.backoff ?? DEFAULT_BACKOFF;
  }

  get url(): string {
    return this.#server.url;
  }

  get signal(): AbortSignal {
    return this.#signal;
  }

  /** Submits a task exactly once, with retries after a lost connection. Generates an idempotency key if there is none. */
  async submit(task: TaskRequest, idempotencyKey: string = uuidv7()): Promise<SubmittedTask> {
    for (let attempt = 0; ; attempt += 1) {
      try {
        const headers = { 'idempotency-key': idempotencyKey };
        const body = await this.#request('POST', '/submit_task', { headers, body: { ...task } });
        return this.#required(parseSubmission(body));
      } catch (thrown) {
        const error = asPolypodError(thrown);
        if (!isUncertain(error) || attempt + 1 >= SUBMIT_ATTEMPTS || this.#signal.aborted) throw error;
        await waitBeforeAttempt(this.backoff, attempt, this.#signal);
      }
    }
  }

  async status(taskId: string): Promise<TaskStatus> {
    return this.#required(
      parseStatus(await this.#request('GET', `/tasks/${encodeURIComponent(taskId)}/status`)),
    );
  }

  async cancel(taskId: string): Promise<TaskStatus> {
    return this.#required(
      parseStatus(await this.#request('POST', `/tasks/${encodeURIComponent(taskId)}/cancel`)),
    );
  }

  /** Newest first. */
  async list(filter: {
    readonly sessionId?: string;
    readonly status?: string;
    readonly limit?: number;
  }): Promise<readonly ListedTask[]> {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(filter)) query.set(name, String(value));
    return parseTasks(await this.#request('GET', `/tasks?${query.toString()}`));
  }

  /** The pending approvals. */
  async approvals(sessionId?: string): Promise<readonly TaskApproval[]> {
    const query = sessionId === undefined ? '' : `?${new URLSearchParams({ sessionId }).toString()}`;
    return parseApprovals(await this.#request('GET', `/approvals${query}`));
  }

  async decide(
    approvalId: string,
    decision: { readonly decision: Decision; readonly comment?: string },
  ): Promise<void> {
    await this.#request('POST', `/approvals/${encodeURIComponent(approvalId)}/decide`, {
      body: { ...decision },
    });
  }

  /** Opens a task's event stream over one connection, from the start or after an event id. */
  async events(taskId: string, after: string | undefined): Promise<EventStreamResult> {
    const { controller, release } = derivedAbort(this.#signal);
    const timer = setTimeout(() => controller.abort(), this.#openMs);
    const closeStream = (): void => {
      controller.abort();
      release();
    };
    try {
      const { status, type, body } = await openStream(
        this.#server,
        {
          method: 'GET',
          path: `/tasks/${encodeURIComponent(taskId)}/events`,
          headers: { accept: 'text/event-stream', ...withoutUndefined({ 'last-event-id': after }) },
        },
        controller.signal,
      );
      if (status !== 204 && type.startsWith('text/event-stream'))
        return { type: 'open', events: this.#read(body, closeStream) };
      closeStream();
      return status === 204 ? { type: 'seen' } : { type: 'impossible', why: 'the server sends no streams' };
    } catch (thrown) {
      const timedOut = controller.signal.aborted && !this.#signal.aborted;
      closeStream();
      const error = asPolypodError(thrown);
      if (timedOut) return { type: 'impossible', why: 'no stream opens' };
      if (NO_STREAM_STATUSES.has(httpRefusalFrom(error)?.status ?? 0))
        return { type: 'impossible', why: 'the server has no streams' };
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  #request(
    method: 'GET' | 'POST',
    path: string,
    extra: { readonly headers?: Readonly<Record<string, string>>; readonly body?: JsonObject } = {},
  ): Promise<JsonObject> {
    return requestJson(this.#server, { method, path, ...extra }, this.#signal);
  }

  async *#read(body: AsyncIterable<Uint8Array>, closeStream: () => void): AsyncGenerator<TaskEvent> {
    const reader = new EventReader();
    let [isIdle, isEmpty] = [false, true];
    const timer = setTimeout(() => {
      isIdle = true;
      closeStream();
    }, this.#silentMs);
    try {
      for await (const bytes of body) {
        timer.refresh();
        isEmpty = false;
        yield* reader.push(bytes);
      }
    } catch (thrown) {
      throw isIdle && isEmpty ? noDataError() : connectionLostError(this.url, thrown);
    } finally {
      clearTimeout(timer);
      // A reader that stops early must not leave the connection open.
      closeStream();
    }
  }

  #required<T>(answer: T | undefined): T {
    if (answer !== undefined) return answer;
    throw new PolypodError(
      'provider-failed',
      `the server at ${this.url} is not an agent: check the address and its path`,
    );
  }
}

/** Whether the server may or may not have received the submission: only then is it retried. */
function isUncertain(error: PolypodError): boolean {
  return isTransientError(error) && UNCERTAIN_CODES.has(connectionErrorCode(error) ?? '');
}

/** The statuses of servers without streams. A missing task is detected by the next status request. */
const NO_STREAM_STATUSES: ReadonlySet<number> = new Set([404, 405, 406, 501]);
const UNCERTAIN_CODES: ReadonlySet<string> = new Set([CUT, 'ECONNRESET', 'EPIPE', 'ETIMEDOUT']);
