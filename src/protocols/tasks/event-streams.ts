import { afterOf, type Cursor, placed, type PlacedLine, readCursor } from './cursor.ts';
import type { Call, Desk, Reply } from './route.ts';
import { streamSse } from './sse-stream.ts';
import { unknown } from './errors.ts';
import { taskLines } from './task-lines.ts';
import { isOver } from './task-status.ts';
import type { StreamLine } from './wire.ts';

/** `GET /sessions/{sessionId}/events` */
export async function streamSession(call: Call, desk: Desk): Promise<Reply> {
  const row = desk.sessions.get(call.key, call.params.get('sessionId') ?? '');
  const from = cursorIn(call);
  return stream(call, desk, (signal) =>
    placed(linesOf(call, desk, row.id, from === undefined ? undefined : afterOf(from), signal), from),
  );
}

/** `GET /tasks/{taskId}/events`: from the task's first event on, if nothing else is said, to its last. */
export async function streamTask(call: Call, desk: Desk): Promise<Reply> {
  const taskId = call.params.get('taskId') ?? '';
  const { row, state } = await desk.tasks.find(call.key, taskId);
  const history = await desk.tasks.history(row.id, taskId);
  if (history === undefined) throw unknown(`task ${taskId}`);
  const from = cursorIn(call);
  // To a client that has seen the end: a browser would else come back for ever.
  if (from !== undefined && isOver(state) && from.seq >= (history.lastSeq ?? Infinity))
    return { nothing: true };
  const after = from === undefined ? history.firstSeq - 1 : afterOf(from);
  return stream(call, desk, (signal) =>
    placed(taskLines(linesOf(call, desk, row.id, after, signal), taskId, history, after), from),
  );
}

function linesOf(
  { key }: Call,
  { settings }: Desk,
  podId: string,
  after: number | undefined,
  signal: AbortSignal,
): AsyncIterable<StreamLine> {
  const { host, project } = settings;
  return project(host.pod(podId), { by: key.owner, signal, ...(after !== undefined && { after }) });
}

/** What a browser sends when it comes back counts more than the address that it began with. */
function cursorIn({ query, headers }: Call): Cursor | undefined {
  const last = headers['last-event-id'];
  if (typeof last === 'string' && last !== '') return readCursor(last, 'Last-Event-ID');
  const after = query.get('after');
  return after === null ? undefined : readCursor(after, 'after');
}

async function stream(
  { key, response }: Call,
  { streams, limits }: Desk,
  lines: (signal: AbortSignal) => AsyncIterable<PlacedLine>,
): Promise<Reply> {
  const over = new AbortController();
  const forget = streams.add(key, (why) => over.abort(why));
  response.on('close', () => over.abort('the client is gone'));
  const { keepAliveMs, unreadBytes } = limits;
  try {
    await streamSse(response, lines(over.signal), { keepAliveMs, unreadBytes, signal: over.signal });
  } finally {
    over.abort();
    forget();
  }
  return { sent: true };
}
