import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { Type } from 'typebox';
import {
  asPolypodError,
  isObject,
  type JsonObject,
  objectOf,
  readMessage,
  stringOf,
  withoutUndefined,
} from '../../../base/index.ts';
import {
  containFailures,
  httpRefusal,
  type Rate,
  TokenBucket,
  unreadableMessage,
} from '../../../wire/index.ts';
import { lineId, type StreamCursor, type StreamEvent, readCursor } from './cursor.ts';
import { refuseKeyInAddress, requirePermission } from '../http/authenticator.ts';
import { wireError, wrongField } from '../errors.ts';
import type { KeyRecord, KeyPermission } from '../keys/key.ts';
import { oncePer } from './once-per.ts';
import { openResumableStream, whyClosed } from './resumable-stream.ts';
import {
  authenticate,
  checkHeaders,
  clean,
  clientRequestId,
  noPath,
  refuseFailedAttempts,
  type RequestContext,
} from '../http/request-checks.ts';
import { isPath } from '../http/route-path.ts';
import type { TasksContext } from '../http/route.ts';
import { readerFor } from '../http/validation.ts';
import { ENDED } from './sse-stream.ts';
import type { AcceptWebSocket, WebSocketLink, WebSocketOptions } from './web-socket-link.ts';
import { ApprovalParams, Decision, SubmitRequest, SubscribeParams, TaskParams } from '../wire.ts';

/** A message from a client: `{method, params?, request_id?}`. Responses carry the same `request_id`. */
type Method = (params: JsonObject, session: SocketSession) => Promise<object>;

/** One client and its subscriptions. */
interface SocketSession {
  readonly key: KeyRecord;
  readonly context: TasksContext;
  readonly link: WebSocketLink;
  /** Counts a message against the key's rate. Rejects if it exceeds the rate. */
  readonly charge: () => Promise<void>;
  readonly gone: AbortSignal;
  /** By session. A second subscription to a session replaces the first. */
  readonly listening: Map<string, AbortController>;
  /** Sends a line. A client that does not read is disconnected, because its output is not buffered without limit. */
  readonly send: (line: object) => void;
  /** Sends an error, with the fields that identify its subject. */
  readonly fail: (thrown: unknown, marks: JsonObject) => void;
  /** Fields for the audit log. */
  readonly drop: () => void;
  readonly note: (method: string, params: JsonObject, policyResult: string, requestId: unknown) => void;
}

/** Upgrades a connection, or refuses it like any other request. */
export async function serveSocket(
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  parts: SocketParts,
): Promise<void> {
  const { requestContext, charge, accept } = parts;
  const { refusals, audit, context } = requestContext;
  const requestId = randomUUID();
  const url = request.url ?? '';
  const pathname = url.replace(/\?.*$/s, '');
  const action = clean(`GET ${isPath(url) ? pathname : url}`);
  const remote = requestContext.remoteOf(request);
  let key: KeyRecord | undefined;
  const note = (policyResult: string): void =>
    audit?.write({
      requestId,
      clientRequestId: clientRequestId(request),
      remote,
      actor: key?.owner,
      keyId: key?.id,
      action,
      policyResult,
    });
  try {
    refuseFailedAttempts(requestContext, remote, request);
    if (!isPath(url)) throw noPath();
    checkHeaders(request, requestContext);
    key = authenticate(request, requestContext, remote);
    await charge(key);
    refuseKeyInAddress(url, queryOf(url));
    requirePermission(key, 'read');
    if (request.method !== 'GET') throw wrongField('method', 'must be GET for a WebSocket');
    if (pathname !== '/ws') throw wrongField('path', 'must be /ws for a WebSocket');
    refuseOtherVersion(request.headers);
    const session = { key, requestId, remote, ...parts };
    // The client may have disconnected while its key was checked.
    if (socket.destroyed) return;
    containFailures(socket, requestContext.caught);
    accept(request, socket, head, (link) => openSession(link, session));
    note('allowed');
  } catch (thrown) {
    const { status, code: word, body, headers = {} } = wireError(asPolypodError(thrown), requestId);
    context.refused.add(word);
    const text = JSON.stringify(body);
    const lines = [
      `HTTP/1.1 ${status} Refused`,
      ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
      'Content-Type: application/json; charset=utf-8',
      `Content-Length: ${Buffer.byteLength(text)}`,
      'X-Content-Type-Options: nosniff',
      'Cache-Control: no-store',
      'Connection: close',
    ];
    socket.end(`${lines.join('\r\n')}\r\n\r\n${text}`, () => socket.destroy());
    if (key === undefined) refusals.count(remote);
    if (status === 429) refusals.drop(remote, key?.id);
    else note(word);
  }
}

/** What the door passes to each WebSocket. */
export interface SocketParts {
  readonly requestContext: RequestContext;
  /** Counts one message of a key. Rejects if it exceeds the key's rate. */
  readonly charge: (key: KeyRecord) => Promise<void>;
  readonly accept: AcceptWebSocket;
}

/** The library would answer without the headers of every response. */
function refuseOtherVersion(headers: IncomingHttpHeaders): void {
  const isOne =
    headers.upgrade?.toLowerCase() === 'websocket' &&
    headers['sec-websocket-version'] === '13' &&
    /^[A-Za-z0-9+/]{22}==$/.test(headers['sec-websocket-key'] ?? '');
  if (!isOne)
    throw httpRefusal(426, 'upgrade_required', 'this endpoint requires WebSocket version 13', {
      headers: { upgrade: 'websocket', 'sec-websocket-version': '13' },
    });
}

function queryOf(url: string): JsonObject {
  return Object.fromEntries(new URLSearchParams(url.replace(/^[^?]*/, '')));
}

function openSession(
  connect: (options: WebSocketOptions) => WebSocketLink,
  {
    key,
    requestId,
    remote,
    requestContext,
    charge,
  }: SocketParts & {
    readonly key: KeyRecord;
    readonly requestId: string;
    readonly remote: string;
  },
): void {
  const { context, log, audit, refusals, caught } = requestContext;
  const gone = new AbortController();
  // Messages of a client are handled in order, one after the other.
  let turn: Promise<void> = Promise.resolve();
  let waiting = 0;
  let waitingCharacters = 0;
  const refused = new TokenBucket(REFUSED_MESSAGES);
  let forget = (): void => {};
  const link = connect({
    onText: (text) => {
      waiting += 1;
      waitingCharacters += text.length;
      if (waiting > MOST_WAITING || waitingCharacters > context.limits.unreadBytes)
        link.close(RATE_LIMITED, 'too many pending messages: send fewer at once');
      turn = turn
        .then(() => answerText(text, session))
        .catch((thrown: unknown) => {
          // Errors of a message were already answered; this is an internal error that affects only this client.
          caught(thrown);
          link.close(FAILED, 'an unexpected error: connect again');
        })
        .finally(() => {
          waiting -= 1;
          waitingCharacters -= text.length;
        });
    },
    onClose: () => {
      gone.abort();
      forget();
    },
  });
  const session: SocketSession = {
    key,
    context,
    link,
    charge: async () => {
      try {
        await charge(key);
      } catch (thrown) {
        // A client that ignores refusals is disconnected.
        if (refused.take() > 0) link.close(RATE_LIMITED, asPolypodError(thrown).message);
        throw thrown;
      }
    },
    gone: gone.signal,
    listening: new Map(),
    drop: () => refusals.drop(remote, key.id),
    note: (method, params, policyResult, clientId) =>
      audit?.write({
        requestId,
        clientRequestId: clientId === undefined ? undefined : textOf(clientId),
        remote,
        actor: key.owner,
        keyId: key.id,
        action: `WS ${method}`,
        target: stringOf(params.taskId ?? params.approvalId ?? params.sessionId),
        policyResult,
      }),
    send: (line) => {
      if (link.pending > context.limits.unreadBytes)
        link.close(TOO_SLOW, 'too many unread bytes: reconnect and subscribe after the last id');
      else link.send(JSON.stringify(line));
    },
    fail: (thrown, marks) => {
      const error = asPolypodError(thrown);
      if (error.code === 'internal') log.error('a message failed', { message: error.message });
      const { body } = wireError(error, '');
      session.send({ event: 'error', data: body.error, ...marks });
    },
  };
  try {
    forget = context.streams.add(key, (why) => link.close(CLOSED_BY_US, why));
  } catch (thrown) {
    link.close(RATE_LIMITED, asPolypodError(thrown).message);
  }
}

async function answerText(text: string, session: SocketSession): Promise<void> {
  const read = readMessage(text, session.context.limits.body.depth);
  const message = 'value' in read ? read.value : undefined;
  const { method, params } = objectOf(message);
  const requestId = isRequestId(objectOf(message).request_id) ? objectOf(message).request_id : undefined;
  try {
    await session.charge();
    if ('problem' in read) throw unreadableMessage('the message', read);
    if (!isObject(message)) throw httpRefusal(400, 'invalid_request', 'the message must be a JSON object');
    if (message.request_id !== requestId)
      throw wrongField('request_id', `must be a number, or text of at most ${LONGEST_REQUEST_ID} characters`);
    const [scope, answer] = METHODS.get(stringOf(method)) ?? [];
    if (scope === undefined || answer === undefined)
      throw wrongField('method', `must be one of ${[...METHODS.keys()].join(', ')}`);
    requirePermission(session.key, scope);
    const data = await answer(objectOf(readParams(params ?? {})), session);
    session.send({ event: 'accepted', data, ...marked(requestId) });
    if (scope !== 'read')
      session.note(stringOf(method), { ...objectOf(params), ...data }, 'allowed', requestId);
  } catch (thrown) {
    session.fail(thrown, marked(requestId));
    const { status, code: word } = wireError(asPolypodError(thrown), '');
    session.context.refused.add(word);
    if (status === 429) session.drop();
    else session.note(stringOf(method).slice(0, 50), objectOf(params), word, requestId);
  }
}

/** The request id is returned unchanged, so it must be a short text or a number. */
function isRequestId(id: unknown): boolean {
  return typeof id === 'string' ? id.length <= LONGEST_REQUEST_ID : Number.isFinite(id);
}

const readParams = readerFor('params', Type.Object({}));
const readSubscribe = readerFor('params', SubscribeParams);
const readTask = readerFor('params', TaskParams);
const readApproval = readerFor('params', ApprovalParams);
const readSubmit = readerFor('the task', SubmitRequest);
const readDecision = readerFor('the decision', Decision);

/** The methods and the permissions that they need. */
const METHODS: ReadonlyMap<string, readonly [KeyPermission, Method]> = new Map<
  string,
  [KeyPermission, Method]
>([
  ['subscribe', ['read', subscribe]],
  ['unsubscribe', ['read', unsubscribe]],
  ['prompt', ['submit', (params, { context, key }) => context.tasks.submit(key, readSubmit(params))]],
  [
    'status',
    ['read', async (params, { context, key }) => context.tasks.status(key, readTask(params).taskId)],
  ],
  [
    'cancel',
    ['submit', async (params, { context, key }) => context.tasks.cancel(key, readTask(params).taskId)],
  ],
  ['decide', ['approve', decide]],
]);

async function subscribe(params: JsonObject, session: SocketSession): Promise<object> {
  const { sessionId, after } = readSubscribe(params);
  const row = session.context.sessions.get(session.key, sessionId);
  listen(sessionId, row.id, after === undefined ? undefined : readCursor(String(after), 'after'), session);
  return { sessionId };
}

async function unsubscribe(params: JsonObject, { listening }: SocketSession): Promise<object> {
  const { sessionId } = readSubscribe(params);
  listening.get(sessionId)?.abort();
  return { sessionId };
}

async function decide(params: JsonObject, { context, key }: SocketSession): Promise<object> {
  const { approvalId } = readApproval(params);
  return { approvalId, decision: await context.approvals.decide(key, approvalId, readDecision(params)) };
}

/** Sends a session's lines until the client unsubscribes. */
function listen(
  sessionId: string,
  podId: string,
  from: StreamCursor | undefined,
  session: SocketSession,
): void {
  const { context, link, gone, listening, send, fail } = session;
  if (!listening.has(sessionId) && listening.size >= context.limits.subscriptions)
    throw httpRefusal(429, 'too_many_streams', `this connection has ${listening.size} subscriptions already`);
  listening.get(sessionId)?.abort();
  const stop = new AbortController();
  listening.set(sessionId, stop);
  const signal = AbortSignal.any([gone, stop.signal]);
  const sendEvents = async (): Promise<void> => {
    const { events, take } = openResumableStream(context, { podId, from }, signal);
    for await (const projected of events) {
      if (signal.aborted) return;
      link.send(...messagesOf(take(projected).batch, sessionId));
      if (link.pending > context.limits.unreadBytes) await link.drained();
    }
    if (!signal.aborted)
      send({ event: 'error', data: { code: ENDED, message: whyClosed(context) }, session_id: sessionId });
  };
  sendEvents()
    .catch((thrown: unknown) => fail(thrown, { session_id: sessionId }))
    .finally(() => {
      if (listening.get(sessionId) === stop) listening.delete(sessionId);
    });
}

/** All clients that use the same name for the session are sent the same bytes. */
function messagesOf(batch: readonly StreamEvent[], sessionId: string): readonly Buffer[] {
  const byName = messagesByName(batch);
  const known = byName.get(sessionId);
  if (known !== undefined) return known;
  const messages = batch.flatMap((event) =>
    event.lines.map((line, index) => {
      const id = lineId(event, line, index);
      return Buffer.from(JSON.stringify({ ...line, session_id: sessionId, ...withoutUndefined({ id }) }));
    }),
  );
  byName.set(sessionId, messages);
  return messages;
}

const messagesByName = oncePer((_: readonly StreamEvent[]) => new Map<string, readonly Buffer[]>());

/** The request id for the audit log; anything but a text or a number is replaced by its type. */
function textOf(requestId: unknown): string {
  return typeof requestId === 'string' || typeof requestId === 'number'
    ? String(requestId)
    : typeof requestId;
}

function marked(requestId: unknown): JsonObject {
  return requestId === undefined ? {} : { request_id: requestId };
}

/** From the range for private use. */
const CLOSED_BY_US = 4_000;
const TOO_SLOW = 4_001;
/** "Policy violation" of RFC 6455. */
const RATE_LIMITED = 1_008;
const MOST_WAITING = 1_000;
/** How many messages beyond the key's rate are answered before the connection is closed. */
const REFUSED_MESSAGES: Rate = { perMinute: 60, burst: 100 };
/** RFC 6455: the server encountered an unexpected condition. */
const FAILED = 1_011;
const LONGEST_REQUEST_ID = 1_024;
