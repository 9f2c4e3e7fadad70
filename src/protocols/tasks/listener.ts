import { type JsonObject, PolypodError, withoutUndefined } from '../../base/index.ts';
import { Delegations } from '../../delegation/index.ts';
import { type HttpServer, isLoopback, serveHttp } from '../../wire/index.ts';
import { Approvals } from './work/approvals.ts';
import { delegatedWork } from './work/delegated-work.ts';
import { Authenticator } from './http/authenticator.ts';
import { KeyRing } from './keys/key-ring.ts';
import { LiveStreams } from './http/live-streams.ts';
import { OwnedSessions } from './work/owned-sessions.ts';
import { RefusalCounts } from './refusal-counts.ts';
import { AddressLimits } from './http/address-limits.ts';
import { clientAddress } from './http/client-address.ts';
import { RequestAudit } from './http/request-audit.ts';
import type { TasksContext } from './http/route.ts';
import { ROUTES } from './routes.ts';
import { createApp, type TasksApp } from './http/app.ts';
import type { RequestContext } from './http/request-checks.ts';
import { serveSocket } from './stream/web-socket.ts';
import { webSockets } from './stream/web-socket-link.ts';
import { type OpenTasks, TASKS_LIMITS, type TasksSettings } from './settings.ts';
import { Tasks } from './work/tasks.ts';
import { Webhooks } from './webhooks/webhooks.ts';

/** Opens the door. Throws if the address would be reachable by others without protection. */
export async function startTasks(settings: TasksSettings): Promise<OpenTasks> {
  const { host, log, address = '127.0.0.1', port = 8_000, tls } = settings;
  const caught = (thrown: unknown): void => settings.caught?.(thrown);
  refuseUnprotected(settings, address);
  const limits = { ...TASKS_LIMITS, ...settings.limits };
  const ring = settings.noAuth === true ? undefined : ringOf(settings);
  const sessions = await OwnedSessions.open(host);
  const streams = new LiveStreams(limits.streams);
  const authenticator = new Authenticator(ring, limits);
  const delegations = new Delegations({
    host,
    log,
    records: delegatedWork(host),
    caller: { by: 'coordinator', door: 'tasks' },
    limit: limits.delegations,
  });
  await delegations.open();
  const refused = new RefusalCounts();
  let document: Promise<JsonObject> | undefined;
  const context: TasksContext = {
    settings,
    limits,
    sessions,
    streams,
    tickets: authenticator.tickets,
    refused,
    tasks: new Tasks(settings, limits, { sessions, delegations, refused }),
    approvals: new Approvals(host, sessions),
    document: () => (document ??= openApiFor(settings.version)),
  };
  ring?.onChange(() => {
    streams.endWhere(
      (key) => !authenticator.isGood(key),
      (key) => (ring.isExpired(key) ? 'the key has expired' : 'the key was revoked'),
    );
  });
  const audit = settings.audit === undefined ? undefined : new RequestAudit(settings.audit);
  const refusals = new AddressLimits(limits.unauthenticated, audit);
  const guard = { hosts: settings.hosts ?? [], origins: settings.origins ?? [] };
  const requestContext: RequestContext = {
    guard,
    authenticator,
    refusals,
    context,
    audit,
    log,
    caught,
    remoteOf: (request) => clientAddress(request, settings.behindProxy === true),
    trust: ({ socket }, keyId) => server.trust(socket, keyId),
  };
  const webhooks = new Webhooks(host, settings, log, limits.webhooks);
  const letGo = async (): Promise<void> => {
    ring?.close();
    delegations.close();
    sessions.close();
    await webhooks.close();
    refusals.close();
    await app?.close();
  };
  let server: HttpServer;
  let app: TasksApp;
  try {
    app = await createApp(ROUTES, requestContext);
    const socketParts = {
      requestContext,
      charge: app.charge,
      accept: webSockets({
        messageBytes: limits.body.bytes,
        pingMs: limits.keepAliveMs,
        ...limits.webSocket,
      }),
    };
    server = await serveHttp({
      host: address,
      port,
      ...withoutUndefined({ tls }),
      limits: limits.http,
      handle: app.handle,
      upgrade: (request, socket, head) => void serveSocket(request, socket, head, socketParts),
      onRefused: ({ remote, code: word }) => noteConnection(remote, word, requestContext),
    });
  } catch (thrown) {
    await letGo();
    throw thrown;
  }
  return {
    url: server.url,
    port: server.port,
    status: () => ({
      url: server.url,
      connections: server.connections,
      streams: streams.size,
      refused: refused.total,
    }),
    close: async () => {
      await streams.close('the agent is stopping', ENDING_MS);
      await server.close();
      await letGo();
    },
  };
}

/** Few clients request the document, so its generator is loaded for the first one. */
async function openApiFor(version: string): Promise<JsonObject> {
  const { openApiDocument } = await import('./http/openapi.ts');
  return openApiDocument(ROUTES, version);
}

/** How long closing waits for the last event of the streams. */
const ENDING_MS = 2_000;

/** Counts and audits a connection that was refused before there was a request. Returns whether to send the client the reason. */
function noteConnection(remote: string, word: string, { refusals, audit, context }: RequestContext): boolean {
  context.refused.add(word);
  const isWithin = refusals.count(remote);
  if (isWithin) audit?.connection(word, remote);
  else refusals.drop(remote);
  return isWithin;
}

function ringOf({ keyFile, keys, log, audit }: TasksSettings): KeyRing {
  return new KeyRing({
    ...withoutUndefined({ file: keyFile, given: keys }),
    log,
    onExpired: ({ id, owner, expiresAt }) =>
      audit?.({
        event: 'key.expired',
        door: 'tasks',
        by: owner,
        keyId: id,
        target: id,
        details: { expiresAt },
      }),
  });
}

/** Keys are sent over this connection, so it must be encrypted wherever others can read it. */
function refuseUnprotected(
  { tls, behindProxy, noAuth, keyFile, keys }: TasksSettings,
  address: string,
): void {
  if (noAuth === true && !isOwnAddress(address))
    throw new PolypodError(
      'bad-request',
      `${address} can be reached by others: without keys, only a loopback address is permitted`,
    );
  if (noAuth !== true && keyFile === undefined && (keys ?? []).length === 0)
    throw new PolypodError(
      'bad-request',
      'a key is required: configure a key file, or set a key in the environment',
    );
  if (!isOwnAddress(address) && tls === undefined && behindProxy !== true)
    throw new PolypodError(
      'bad-request',
      `${address} can be reached by others: configure a certificate and its key, or a proxy that terminates TLS`,
    );
}

function isOwnAddress(address: string): boolean {
  return address === 'localhost' || isLoopback(address);
}
