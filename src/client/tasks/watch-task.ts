import { asPolypodError, PolypodError, stringOf } from '../../base/index.ts';
import { streamEndedError, isTransientError, isNoDataError, retryAfter } from './exchange.ts';
import { waitBeforeAttempt } from './wait-before-attempt.ts';
import { isFinished, type TaskEvent, type TaskStatus } from './task.ts';
import type { TasksClient } from './tasks-client.ts';

export interface WatchOptions {
  /** The id of the last event that was received. */
  readonly after?: string;
  /** How long the server may be unreachable before watching fails. */
  readonly giveUpAfterMs?: number;
  /** Never open a stream. */
  readonly pollOnly?: boolean;
}

/** An update for a watcher. The last one is the status of the finished task. */
export type WatchUpdate =
  | { readonly type: 'event'; readonly event: TaskEvent }
  | { readonly type: 'status'; readonly status: TaskStatus }
  /** The connection is lost and will be retried. */
  | { readonly type: 'lost'; readonly why: string }
  | { readonly type: 'back' }
  /** Streaming is not possible: from now on the status is polled. */
  | { readonly type: 'polling'; readonly why: string };

const GIVE_UP_AFTER_MS = 120_000;
const POLLING = { firstMs: 250, maxMs: 2_000 };

/**
 * Watches a task to its end: yields every event once and in order, across reconnects. If streaming is not possible, yields
 * its status whenever that changes. Throws if the server rejects a request or is unreachable for too long.
 */
export async function* watchTask(
  client: TasksClient,
  taskId: string,
  { after, giveUpAfterMs = GIVE_UP_AFTER_MS, pollOnly = false }: WatchOptions = {},
): AsyncGenerator<WatchUpdate> {
  const contact = new ServerContact(giveUpAfterMs);
  if (!pollOnly) {
    const why = yield* streamTask(client, taskId, contact, after);
    if (why === undefined) return;
    yield { type: 'polling', why };
  }
  yield* pollTask(client, taskId, contact);
}

/** Returns why streaming is not possible; undefined when the task has finished. */
async function* streamTask(
  client: TasksClient,
  taskId: string,
  contact: ServerContact,
  after: string | undefined,
): AsyncGenerator<WatchUpdate, string | undefined> {
  let lastId = after;
  for (let idleRounds = 0; ; idleRounds += 1) {
    try {
      const opened = await client.events(taskId, lastId);
      if (contact.restored()) yield { type: 'back' };
      if (opened.type === 'impossible') return opened.why;
      if (opened.type === 'open')
        for await (const event of opened.events) {
          idleRounds = 0;
          // This event concerns the connection, not the task.
          if (isEarlyEnd(event)) throw streamEndedError(client.url, stringOf(event.data.message));
          lastId = event.id ?? lastId;
          // `subscribed` concerns the connection, not the task.
          if (event.event !== 'subscribed') yield { type: 'event', event };
        }
      const status = await client.status(taskId);
      if (isFinished(status)) {
        yield { type: 'status', status };
        return undefined;
      }
    } catch (thrown) {
      if (isNoDataError(thrown)) return 'the stream delivers no data';
      const lost = contact.lost(thrown, client.signal);
      if (lost !== undefined) yield lost;
    }
    await waitBeforeAttempt(client.backoff, idleRounds, client.signal, contact.waitMs);
  }
}

function isEarlyEnd({ event, id, data }: TaskEvent): boolean {
  return event === 'error' && id === undefined && data.code === 'ended';
}

async function* pollTask(
  client: TasksClient,
  taskId: string,
  contact: ServerContact,
): AsyncGenerator<WatchUpdate> {
  let before = '';
  for (let same = 0; ; same += 1) {
    try {
      const status = await client.status(taskId);
      if (contact.restored()) yield { type: 'back' };
      const now = JSON.stringify(status);
      if (now !== before) {
        [before, same] = [now, 0];
        yield { type: 'status', status };
      }
      if (isFinished(status)) return;
    } catch (thrown) {
      const lost = contact.lost(thrown, client.signal);
      if (lost !== undefined) yield lost;
    }
    await waitBeforeAttempt(POLLING, same, client.signal, contact.waitMs);
  }
}

/** Tracks whether the server is reachable, and for how long it has not been. */
class ServerContact {
  readonly #patienceMs: number;
  #lostAt: number | undefined;
  /** The delay that the server requested. */
  waitMs = 0;

  constructor(patienceMs: number) {
    this.#patienceMs = patienceMs;
  }

  /** Records a successful request. Returns whether the connection was lost before. */
  restored(): boolean {
    const wasLost = this.#lostAt !== undefined;
    [this.#lostAt, this.waitMs] = [undefined, 0];
    return wasLost;
  }

  /** Records a failed request. Throws permanent errors; returns an update for the first failure. */
  lost(thrown: unknown, signal: AbortSignal): Extract<WatchUpdate, { type: 'lost' }> | undefined {
    const error = asPolypodError(thrown);
    if (signal.aborted || !isTransientError(error)) throw error;
    const isNew = this.#lostAt === undefined;
    const now = performance.now();
    this.#lostAt ??= now;
    this.waitMs = (retryAfter(error) ?? 0) * 1000;
    if (now + this.waitMs - this.#lostAt > this.#patienceMs)
      throw new PolypodError(
        'unreachable',
        `${error.message}; given up after ${Math.round((now - this.#lostAt) / 1000)} s`,
        { cause: error.cause },
      );
    return isNew ? { type: 'lost', why: error.message } : undefined;
  }
}
