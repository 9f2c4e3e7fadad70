import { afterOf, type StreamCursor, readCursor } from './cursor.ts';
import type { RouteCall, TasksContext, Reply } from '../http/route.ts';
import { openResumableStream, type StreamRequest, whyClosed } from './resumable-stream.ts';
import { sseHead, streamSse } from './sse-stream.ts';
import { unknown } from '../errors.ts';
import { taskEvents } from './task-events.ts';
import { streamAddress, TASK_EVENTS, ticketTarget } from '../http/ticket-request.ts';
import type { TicketRequest } from '../wire.ts';
import { isOver } from '../work/task-status.ts';

/** The position in a query. */
type StreamCall = RouteCall<unknown, { readonly after?: string }>;

/** `GET /sessions/{sessionId}/events` */
export async function streamSession(call: StreamCall, context: TasksContext): Promise<Reply> {
  const row = context.sessions.get(call.key, call.id);
  return stream(call, context, { podId: row.id, from: cursorIn(call) });
}

/** `GET /tasks/{taskId}/events`: by default from the task's first event to its last. */
export async function streamTask(call: StreamCall, context: TasksContext): Promise<Reply> {
  const { id: taskId } = call;
  const { row, state } = await context.tasks.find(call.key, taskId);
  const history = await context.tasks.history(row.id, taskId);
  if (history === undefined) throw unknown(`task ${taskId}`);
  const from = cursorIn(call);
  // The client has received the end: otherwise a browser would reconnect forever.
  if (from !== undefined && isOver(state) && from.seq >= (history.lastSeq ?? Infinity))
    return { nothing: true };
  const after = from === undefined ? history.firstSeq - 1 : afterOf(from);
  return stream(call, context, { podId: row.id, from, after, select: taskEvents(taskId, history, after) });
}

/** `POST /stream_tickets`: for a stream that the key may read now. */
export async function createTicket(
  { key, body }: RouteCall<TicketRequest>,
  { sessions, tasks, tickets }: TasksContext,
): Promise<Reply> {
  const target = ticketTarget(body);
  if (target.path === TASK_EVENTS) await tasks.find(key, target.id);
  else sessions.get(key, target.id);
  const { ticket, expiresAt } = tickets.mint(key, target);
  const url = `${streamAddress(target)}?ticket=${ticket}`;
  return { json: { ticket, url, expiresAt }, audit: { target: target.id } };
}

/** The position that a browser sends on reconnection takes precedence over the one in the URL. */
function cursorIn({ query: { after }, headers }: StreamCall): StreamCursor | undefined {
  const last = headers['last-event-id'];
  if (typeof last === 'string' && last !== '') return readCursor(last, 'Last-Event-ID');
  return after === undefined ? undefined : readCursor(after, 'after');
}

async function stream(
  { key, takeOver, isHead }: StreamCall,
  context: TasksContext,
  wanted: StreamRequest,
): Promise<Reply> {
  const { streams, limits } = context;
  const over = new AbortController();
  const forget = isHead ? () => {} : streams.add(key, (why) => over.abort(why));
  const { response, head } = takeOver();
  if (isHead) {
    response.writeHead(200, [...sseHead(head)]).end();
    return { sent: true };
  }
  response.on('close', () => over.abort('the client has disconnected'));
  const { keepAliveMs, unreadBytes } = limits;
  const { signal } = over;
  try {
    const resumable = openResumableStream(context, wanted, signal);
    const whyEnded = (): string => whyClosed(context);
    await streamSse(response, resumable, { head, keepAliveMs, unreadBytes, signal, whyEnded });
  } finally {
    over.abort();
    forget();
  }
  return { sent: true };
}
