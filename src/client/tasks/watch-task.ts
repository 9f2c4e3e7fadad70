import { asPolypodError, PolypodError, stringOf } from '../../base/index.ts';
import { endedEarly, isPassing, isSilence, retryAfter } from './exchange.ts';
import { pause } from './pause.ts';
import { isOver, type TaskEvent, type TaskStatus } from './task.ts';
import type { TasksClient } from './tasks-client.ts';

export interface WatchOptions {
  /** The id of the last event that was seen. */
  readonly after?: string;
  /** How long the server may be away before it is given up. */
  readonly patienceMs?: number;
  /** Never to ask for a stream. */
  readonly polls?: boolean;
}

/** What a watcher is told. The last is the status of a task that is over. */
export type Watched =
  | { readonly type: 'event'; readonly event: TaskEvent }
  | { readonly type: 'status'; readonly status: TaskStatus }
  /** The connection is gone, and tried again. */
  | { readonly type: 'lost'; readonly why: string }
  | { readonly type: 'back' }
  /** There can be no stream: from now on the status is asked for. */
  | { readonly type: 'polling'; readonly why: string };

const PATIENCE_MS = 120_000;
const POLLING = { firstMs: 250, longestMs: 2_000 };

/**
 * Follows a task to its end: every event once and in order, however often the connection breaks; where streams are impossible,
 * its status whenever that changes. Throws when the server refuses, or is away for too long.
 */
export async function* watchTask(
  client: TasksClient,
  taskId: string,
  { after, patienceMs = PATIENCE_MS, polls = false }: WatchOptions = {},
): AsyncGenerator<Watched> {
  const contact = new Contact(patienceMs);
  if (!polls) {
    const why = yield* streamTask(client, taskId, contact, after);
    if (why === undefined) return;
    yield { type: 'polling', why };
  }
  yield* pollTask(client, taskId, contact);
}

/** Answers why it cannot be done by streams; with nothing when the task is over. */
async function* streamTask(
  client: TasksClient,
  taskId: string,
  contact: Contact,
  after: string | undefined,
): AsyncGenerator<Watched, string | undefined> {
  let lastId = after;
  for (let quiet = 0; ; quiet += 1) {
    try {
      const opened = await client.events(taskId, lastId);
      if (contact.stands()) yield { type: 'back' };
      if (opened.type === 'impossible') return opened.why;
      if (opened.type === 'open')
        for await (const event of opened.events) {
          quiet = 0;
          // It is about the connection, and not about the task.
          if (isEarlyEnd(event)) throw endedEarly(client.url, stringOf(event.data.message));
          lastId = event.id ?? lastId;
          // That a connection stands is nothing about the task.
          if (event.event !== 'subscribed') yield { type: 'event', event };
        }
      const status = await client.status(taskId);
      if (isOver(status)) {
        yield { type: 'status', status };
        return undefined;
      }
    } catch (thrown) {
      if (isSilence(thrown)) return 'nothing comes through the stream';
      const lost = contact.lost(thrown, client.signal);
      if (lost !== undefined) yield lost;
    }
    await pause(client.backoff, quiet, client.signal, contact.waitMs);
  }
}

function isEarlyEnd({ event, id, data }: TaskEvent): boolean {
  return event === 'error' && id === undefined && data.code === 'ended';
}

async function* pollTask(client: TasksClient, taskId: string, contact: Contact): AsyncGenerator<Watched> {
  let before = '';
  for (let same = 0; ; same += 1) {
    try {
      const status = await client.status(taskId);
      if (contact.stands()) yield { type: 'back' };
      const now = JSON.stringify(status);
      if (now !== before) {
        [before, same] = [now, 0];
        yield { type: 'status', status };
      }
      if (isOver(status)) return;
    } catch (thrown) {
      const lost = contact.lost(thrown, client.signal);
      if (lost !== undefined) yield lost;
    }
    await pause(POLLING, same, client.signal, contact.waitMs);
  }
}

/** Whether the server can be reached, and for how long it could not. */
class Contact {
  readonly #patienceMs: number;
  #lostAt: number | undefined;
  /** How long the server wants to be left alone. */
  waitMs = 0;

  constructor(patienceMs: number) {
    this.#patienceMs = patienceMs;
  }

  /** Answers whether it was lost before. */
  stands(): boolean {
    const wasLost = this.#lostAt !== undefined;
    [this.#lostAt, this.waitMs] = [undefined, 0];
    return wasLost;
  }

  /** Throws what cannot be mended by waiting; tells of a loss once. */
  lost(thrown: unknown, signal: AbortSignal): Extract<Watched, { type: 'lost' }> | undefined {
    const error = asPolypodError(thrown);
    if (signal.aborted || !isPassing(error)) throw error;
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
