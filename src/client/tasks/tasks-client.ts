import type { Decision } from '../decision.ts';
import { asPolypodError, derivedAbort, type JsonObject, PolypodError, uuidv7 } from '../../base/index.ts';
import { httpRefusalFrom, httpTransport, type Transport } from '../../wire/index.ts';
import { type Backoff, DEFAULT_BACKOFF } from '../backoff.ts';
import { EventReader } from './event-reader.ts';
import { askFor, CUT, cutOff, failureIn, isPassing, openFor, silence, type TasksServer } from './exchange.ts';
import { pause } from './pause.ts';
import {
  approvalsIn,
  type AskedApproval,
  type ListedTask,
  statusIn,
  submittedIn,
  type SubmittedTask,
  type TaskEvent,
  tasksIn,
  type TaskStatus,
  type TaskRequest,
} from './task.ts';

export interface TasksClientOptions {
  readonly url: string;
  readonly key?: string;
  /** Another way to the server, such as one that trusts a certificate of one's own. */
  readonly transport?: Transport;
  readonly backoff?: Backoff;
  /** How long a stream may take to open, and how long nothing may come before its connection counts as dead. */
  readonly openMs?: number;
  readonly silentMs?: number;
  /** Ends whatever is under way. */
  readonly signal?: AbortSignal;
}

/** What comes of asking for a task's events: a stream, word that all were seen, or why there can be no stream. */
export type OpenedEvents =
  | { readonly type: 'open'; readonly events: AsyncIterable<TaskEvent> }
  | { readonly type: 'seen' }
  | { readonly type: 'impossible'; readonly why: string };

/** Submissions that were cut off are sent again so often, under one key. */
const SUBMIT_ATTEMPTS = 5;
const OPEN_MS = 15_000;
/** Servers send a comment every 15 seconds: after three that did not come the connection is dead. */
const SILENT_MS = 45_000;

/** A client of the tasks API: each method is one request, but for a submission that was cut off, which is sent again. */
export class TasksClient {
  readonly #place: TasksServer;
  readonly #signal: AbortSignal;
  readonly #openMs: number;
  readonly #silentMs: number;
  readonly backoff: Backoff;

  constructor(options: TasksClientOptions) {
    const { url, key, transport = httpTransport, signal = new AbortController().signal } = options;
    this.#place = { url: url.replace(/\/+$/, ''), key, transport };
    this.#signal = signal;
    this.#openMs = options.openMs ?? OPEN_MS;
    this.#silentMs = options.silentMs ?? SILENT_MS;
    this.backoff = options.backoff ?? DEFAULT_BACKOFF;
  }

  get url(): string {
    return this.#place.url;
  }

  get signal(): AbortSignal {
    return this.#signal;
  }

  /** Submits a task once, however often the connection breaks: without a key of the caller's there is one of ours. */
  async submit(wish: TaskRequest, idempotencyKey: string = uuidv7()): Promise<SubmittedTask> {
    for (let attempt = 0; ; attempt += 1) {
      try {
        const headers = { 'idempotency-key': idempotencyKey };
        const body = await this.#ask('POST', '/submit_task', { headers, body: { ...wish } });
        return this.#understood(submittedIn(body));
      } catch (thrown) {
        const error = asPolypodError(thrown);
        if (!wasCut(error) || attempt + 1 >= SUBMIT_ATTEMPTS || this.#signal.aborted) throw error;
        await pause(this.backoff, attempt, this.#signal);
      }
    }
  }

  async status(taskId: string): Promise<TaskStatus> {
    return this.#understood(statusIn(await this.#ask('GET', `/tasks/${encodeURIComponent(taskId)}/status`)));
  }

  async cancel(taskId: string): Promise<TaskStatus> {
    return this.#understood(statusIn(await this.#ask('POST', `/tasks/${encodeURIComponent(taskId)}/cancel`)));
  }

  /** Newest first. */
  async list(filter: {
    readonly sessionId?: string;
    readonly status?: string;
    readonly limit?: number;
  }): Promise<readonly ListedTask[]> {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(filter)) query.set(name, String(value));
    return tasksIn(await this.#ask('GET', `/tasks?${query.toString()}`));
  }

  /** What waits for a person. */
  async approvals(sessionId?: string): Promise<readonly AskedApproval[]> {
    const query = sessionId === undefined ? '' : `?${new URLSearchParams({ sessionId }).toString()}`;
    return approvalsIn(await this.#ask('GET', `/approvals${query}`));
  }

  async decide(
    approvalId: string,
    decision: { readonly decision: Decision; readonly comment?: string },
  ): Promise<void> {
    await this.#ask('POST', `/approvals/${encodeURIComponent(approvalId)}/decide`, { body: { ...decision } });
  }

  /** A task's events over one connection, from its first, or from the one after an id. */
  async events(taskId: string, after: string | undefined): Promise<OpenedEvents> {
    const { controller, release } = derivedAbort(this.#signal);
    const timer = setTimeout(() => controller.abort(), this.#openMs);
    const leave = (): void => {
      controller.abort();
      release();
    };
    try {
      const { status, type, body } = await openFor(
        this.#place,
        {
          method: 'GET',
          path: `/tasks/${encodeURIComponent(taskId)}/events`,
          headers: { accept: 'text/event-stream', ...(after !== undefined && { 'last-event-id': after }) },
        },
        controller.signal,
      );
      if (status !== 204 && type.startsWith('text/event-stream'))
        return { type: 'open', events: this.#read(body, leave) };
      leave();
      return status === 204 ? { type: 'seen' } : { type: 'impossible', why: 'the server sends no streams' };
    } catch (thrown) {
      const isLate = controller.signal.aborted && !this.#signal.aborted;
      leave();
      const error = asPolypodError(thrown);
      if (isLate) return { type: 'impossible', why: 'no stream opens' };
      if (STREAMLESS.has(httpRefusalFrom(error)?.status ?? 0))
        return { type: 'impossible', why: 'the server has no streams' };
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  #ask(
    method: 'GET' | 'POST',
    path: string,
    more: { readonly headers?: Readonly<Record<string, string>>; readonly body?: JsonObject } = {},
  ): Promise<JsonObject> {
    return askFor(this.#place, { method, path, ...more }, this.#signal);
  }

  async *#read(body: AsyncIterable<Uint8Array>, leave: () => void): AsyncGenerator<TaskEvent> {
    const reader = new EventReader();
    let [isSilent, isEmpty] = [false, true];
    const timer = setTimeout(() => {
      isSilent = true;
      leave();
    }, this.#silentMs);
    try {
      for await (const bytes of body) {
        timer.refresh();
        isEmpty = false;
        yield* reader.push(bytes);
      }
    } catch (thrown) {
      throw isSilent && isEmpty ? silence() : cutOff(this.url, thrown);
    } finally {
      clearTimeout(timer);
      // Whoever has heard enough leaves no connection open.
      leave();
    }
  }

  #understood<T>(answer: T | undefined): T {
    if (answer !== undefined) return answer;
    throw new PolypodError(
      'provider-failed',
      `what answers at ${this.url} is no agent: check the address and its path`,
    );
  }
}

/** Nobody can say whether the server has it: only such a submission is sent again. */
function wasCut(error: PolypodError): boolean {
  return isPassing(error) && MAYBE_ARRIVED.has(failureIn(error) ?? '');
}

/** What servers answer that know nothing of streams: of a task that is not there the next question tells. */
const STREAMLESS: ReadonlySet<number> = new Set([404, 405, 406, 501]);
const MAYBE_ARRIVED: ReadonlySet<string> = new Set([CUT, 'ECONNRESET', 'EPIPE', 'ETIMEDOUT']);
