import { asPolypodError, PolypodError, stringOf } from '../../base/index.ts';
import { type AfterEnd, LastReceived, reconnectingStream, type StreamUpdate } from '../../wire/index.ts';
import { streamEndedError, isTransientError, isNoDataError, retryAfter } from './exchange.ts';
import { isFinished, type TaskEvent, type TaskStatus } from './task.ts';
import type { EventStreamResult, TasksClient } from './tasks-client.ts';

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

type TaskUpdate = Extract<WatchUpdate, { type: 'event' | 'status' }>;

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
  if (!pollOnly) {
    const why = yield* streamTask(client, taskId, after, giveUpAfterMs);
    if (why === undefined) return;
    yield { type: 'polling', why };
  }
  yield* pollTask(client, taskId, giveUpAfterMs);
}

/** Returns why streaming is not possible; undefined when the task has finished. */
async function* streamTask(
  client: TasksClient,
  taskId: string,
  after: string | undefined,
  giveUpAfterMs: number,
): AsyncGenerator<WatchUpdate, string | undefined> {
  let why: string | undefined;
  const updates = reconnectingStream<TaskUpdate, string>({
    position: new LastReceived<TaskUpdate, string>(after, (update) =>
      update.type === 'event' ? update.event.id : undefined,
    ),
    open: async (lastId) => {
      const opened = await client.events(taskId, lastId);
      if (opened.type === 'impossible') why = opened.why;
      return opened.type === 'impossible' ? [] : untilStatus(client, taskId, opened);
    },
    isLast: isEnd,
    afterEnd: (failure) => {
      if (failure !== undefined && isNoDataError(failure.error)) why = 'the stream delivers no data';
      return why === undefined ? afterRequest(failure, client) : { type: 'end' };
    },
    ...limits(client, giveUpAfterMs),
    backoff: client.backoff,
  });
  yield* watchUpdates(updates, client, taskId);
  return why;
}

/** The events of one connection, and then the status if the task has finished. */
async function* untilStatus(
  client: TasksClient,
  taskId: string,
  opened: Exclude<EventStreamResult, { type: 'impossible' }>,
): AsyncGenerator<TaskUpdate> {
  if (opened.type === 'open')
    for await (const event of opened.events) {
      // This event concerns the connection, not the task.
      if (isEarlyEnd(event)) throw streamEndedError(client.url, stringOf(event.data.message));
      yield { type: 'event', event };
    }
  const status = await client.status(taskId);
  if (isFinished(status)) yield { type: 'status', status };
}

function isEarlyEnd({ event, id, data }: TaskEvent): boolean {
  return event === 'error' && id === undefined && data.code === 'ended';
}

async function* pollTask(
  client: TasksClient,
  taskId: string,
  giveUpAfterMs: number,
): AsyncGenerator<WatchUpdate> {
  const updates = reconnectingStream<TaskUpdate, string>({
    position: new LastReceived<TaskUpdate, string>(
      undefined,
      (update) => JSON.stringify(update),
      (update, last) => JSON.stringify(update) === last,
    ),
    open: async () => [{ type: 'status', status: await client.status(taskId) }],
    isLast: isEnd,
    afterEnd: (failure) => afterRequest(failure, client),
    ...limits(client, giveUpAfterMs),
    backoff: POLLING,
  });
  yield* watchUpdates(updates, client, taskId);
}

async function* watchUpdates(
  updates: AsyncIterable<StreamUpdate<TaskUpdate>>,
  client: TasksClient,
  taskId: string,
): AsyncGenerator<WatchUpdate> {
  for await (const update of updates) {
    if (update.type === 'lost') yield { type: 'lost', why: update.error?.message ?? '' };
    else if (update.type === 'restored') yield { type: 'back' };
    else if (!isAboutConnection(update.item)) yield update.item;
    if (update.type === 'item' && isEnd(update.item)) return;
  }
  // The client's signal has ended the updates: this request rejects with the reason.
  if (client.signal.aborted) await client.status(taskId);
}

function isAboutConnection(update: TaskUpdate): boolean {
  return update.type === 'event' && update.event.event === 'subscribed';
}

function isEnd(update: TaskUpdate): boolean {
  return update.type === 'status' && isFinished(update.status);
}

/** Permanent errors end the watch; a task that has not finished is asked for again. */
function afterRequest(failure: { readonly error: unknown } | undefined, { signal }: TasksClient): AfterEnd {
  if (failure === undefined) return { type: 'wait' };
  const error = asPolypodError(failure.error);
  if (signal.aborted || !isTransientError(error)) return { type: 'fail', error };
  return { type: 'lost', error, waitMs: (retryAfter(error) ?? 0) * 1000 };
}

function limits({ signal }: TasksClient, giveUpAfterMs: number) {
  return {
    signal,
    giveUpAfterMs,
    gaveUp: (error: PolypodError | undefined, elapsedMs: number) =>
      new PolypodError(
        'unreachable',
        `${error?.message ?? ''}; given up after ${Math.round(elapsedMs / 1000)} s`,
        { cause: error?.cause },
      ),
  };
}
