import {
  asPolypodError,
  isObject,
  type JsonObject,
  objectOf,
  readMessage,
  shape,
  stringOf,
  withoutUndefined,
} from '../../../base/index.ts';
import {
  containFailures,
  guardRequest,
  httpRefusal,
  type HttpUpgrade,
  unreadableMessage,
  type Rate,
  refuseDuplicates,
  textFrame,
  TokenBucket,
  WebSocketLink,
  webSocketHandshake,
} from '../../../wire/index.ts';
import { type LineBatch, type StreamCursor, readCursor } from './cursor.ts';
import { refuseKeyInAddress, requirePermission, tooManyFailedAttempts } from '../http/authenticator.ts';
import { readFields, wireError, wrongField } from '../errors.ts';
import type { KeyRecord, KeyPermission } from '../keys/key.ts';
import { oncePer } from './once-per.ts';
import { openResumableStream, whyClosed } from './resumable-stream.ts';
import type { TasksContext } from '../http/route.ts';
import { clean, type RequestContext, noPath } from '../http/serve-request.ts';
import { ENDED } from './sse-stream.ts';
import { ignoringUnknownKeys, readSubmit } from '../work/submit-request.ts';

/** A message from a client: `{method, params?, request_id?}`. Responses carry the same `request_id`. */
type Method = (params: JsonObject, session: SocketSession) => Promise<object>;

/** One client and its subscriptions. */
interface SocketSession {
  readonly key: KeyRecord;
  readonly context: TasksContext;
  readonly link: WebSocketLink;
  /** Counts a message against the key's rate. Throws if it exceeds the rate. */
  readonly charge: () => void;
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
export async function serveSocket(upgrade: HttpUpgrade, requestContext: RequestContext): Promise<void> {
  const { request, socket, requestId, clientRequestId, url } = upgrade;
  const { authenticator, refusals, audit, context } = requestContext;
  const action = clean(`GET ${url?.pathname ?? request.url}`);
  const remote = requestContext.remoteOf(request);
  let key: KeyRecord | undefined;
  try {
    const wait = refusals.wait(remote);
    if (wait > 0 && authenticator.find(request.headers) === undefined) throw tooManyFailedAttempts(wait);
    if (url === undefined) throw noPath();
    refuseDuplicates(request.rawHeaders);
    guardRequest(request.headers, requestContext.guard);
    key = authenticator.enter(request.headers, remote);
    upgrade.trust(key.id);
    authenticator.charge(key);
    refuseKeyInAddress(url);
    requirePermission(key, 'read');
    if (request.method !== 'GET') throw wrongField('method', 'must be GET for a WebSocket');
    if (url.pathname !== '/ws') throw wrongField('path', 'must be /ws for a WebSocket');
    const answer = webSocketHandshake(
      request.headers,
      subprotocolFor(request.headers['sec-websocket-protocol']),
    );
    open(upgrade, key, requestContext, answer);
    const [actor, keyId] = [key.owner, key.id];
    audit?.write({ requestId, clientRequestId, remote, actor, keyId, action, policyResult: 'allowed' });
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
    const [actor, keyId] = [key?.owner, key?.id];
    if (status === 429) refusals.drop(remote, key?.id);
    else audit?.write({ requestId, clientRequestId, remote, actor, keyId, action, policyResult: word });
  }
}

function open(
  { socket, head, requestId, request }: HttpUpgrade,
  key: KeyRecord,
  { context, log, audit, remoteOf, authenticator, refusals, caught }: RequestContext,
  answer: string,
): void {
  const gone = new AbortController();
  const forget = context.streams.add(key, (why) => link.close(CLOSED_BY_US, why));
  containFailures(socket, caught);
  socket.write(answer);
  // Messages of a client are handled in order, one after the other.
  let turn: Promise<void> = Promise.resolve();
  let waiting = 0;
  let waitingCharacters = 0;
  const refused = new TokenBucket(REFUSED_MESSAGES);
  const link: WebSocketLink = new WebSocketLink(socket, head, {
    limits: {
      messageBytes: context.limits.body.bytes,
      pingMs: context.limits.keepAliveMs,
      ...context.limits.webSocket,
    },
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
    charge: () => {
      try {
        authenticator.charge(key);
      } catch (thrown) {
        // A client that ignores refusals is disconnected.
        if (refused.take() > 0) link.close(RATE_LIMITED, asPolypodError(thrown).message);
        throw thrown;
      }
    },
    gone: gone.signal,
    listening: new Map(),
    drop: () => refusals.drop(remoteOf(request), key.id),
    note: (method, params, policyResult, clientRequestId) =>
      audit?.write({
        requestId,
        clientRequestId: clientRequestId === undefined ? undefined : textOf(clientRequestId),
        remote: remoteOf(request),
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
}

async function answerText(text: string, session: SocketSession): Promise<void> {
  const read = readMessage(text, session.context.limits.body.depth);
  const message = 'value' in read ? read.value : undefined;
  const { method, params } = objectOf(message);
  const requestId = isRequestId(objectOf(message).request_id) ? objectOf(message).request_id : undefined;
  try {
    session.charge();
    if ('problem' in read) throw unreadableMessage('the message', read);
    if (!isObject(message)) throw httpRefusal(400, 'invalid_request', 'the message must be a JSON object');
    if (message.request_id !== requestId)
      throw wrongField('request_id', `must be a number, or text of at most ${LONGEST_REQUEST_ID} characters`);
    const [scope, answer] = METHODS.get(stringOf(method)) ?? [];
    if (scope === undefined || answer === undefined)
      throw wrongField('method', `must be one of ${[...METHODS.keys()].join(', ')}`);
    requirePermission(session.key, scope);
    const data = await answer(readFields('params', shape.anyObject, params ?? {}), session);
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

/** A number, or the id of a line. */
const CURSOR: shape.Shape<string> = {
  schema: { type: ['string', 'integer'] },
  read: (value, path, report) => {
    if (typeof value === 'string' || typeof value === 'number') return String(value);
    report({ path, at: 'value', text: 'must be a number of an event, such as 12 or "12.1"' });
    return undefined;
  },
};

const SUBSCRIBE = ignoringUnknownKeys(shape.fields({ sessionId: shape.text() }, { after: CURSOR }));

const TASK = ignoringUnknownKeys(shape.fields({ taskId: shape.text() }, {}));
const APPROVAL = ignoringUnknownKeys(shape.fields({ approvalId: shape.text() }, {}));

const METHODS: ReadonlyMap<string, readonly [KeyPermission, Method]> = new Map([
  [
    'subscribe',
    [
      'read',
      async (params, session) => {
        const { sessionId, after } = readFields('params', SUBSCRIBE, params);
        const row = session.context.sessions.get(session.key, sessionId);
        const from = after === undefined ? undefined : readCursor(after, 'after');
        listen(sessionId, row.id, from, session);
        return { sessionId };
      },
    ],
  ],
  [
    'unsubscribe',
    [
      'read',
      async (params, { listening }) => {
        const { sessionId } = readFields('params', SUBSCRIBE, params);
        listening.get(sessionId)?.abort();
        return { sessionId };
      },
    ],
  ],
  ['prompt', ['submit', (params, { context, key }) => context.tasks.submit(key, readSubmit(params))]],
  [
    'status',
    [
      'read',
      async (params, { context, key }) =>
        context.tasks.status(key, readFields('params', TASK, params).taskId),
    ],
  ],
  [
    'cancel',
    [
      'submit',
      async (params, { context, key }) =>
        context.tasks.cancel(key, readFields('params', TASK, params).taskId),
    ],
  ],
  [
    'decide',
    [
      'approve',
      async (params, { context, key }) => {
        const { approvalId } = readFields('params', APPROVAL, params);
        return { approvalId, decision: await context.approvals.decide(key, approvalId, params) };
      },
    ],
  ],
]);

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
      link.sendFrames(framesOf(take(projected).batch, sessionId));
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
function framesOf(batch: LineBatch, sessionId: string): Buffer {
  const byName = framesByName(batch);
  const known = byName.get(sessionId);
  if (known !== undefined) return known;
  const frames = Buffer.concat(
    batch.map(({ line, id }) =>
      textFrame(JSON.stringify({ ...line, session_id: sessionId, ...withoutUndefined({ id }) })),
    ),
  );
  byName.set(sessionId, frames);
  return frames;
}

const framesByName = oncePer((_: LineBatch) => new Map<string, Buffer>());

/**
 * Selects our subprotocol if it was offered, otherwise none: an offer may contain a key, which is never sent back. Browsers and the `ws`
 * package then fail if they offered anything, so a key must be offered together with `polypod`.
 */
function subprotocolFor(offered: string | undefined): string | undefined {
  const names = offered?.split(',').map((name) => name.trim()) ?? [];
  return names.find((name) => name === 'polypod');
}

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
