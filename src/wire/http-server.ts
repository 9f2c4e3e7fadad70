import { randomUUID } from 'node:crypto';
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import { createServer as createTlsServer, type ServerOptions as TlsServerOptions } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { messageOf, PolypodError, systemCodeOf } from '../base/index.ts';
import type { Rate } from './rate-limit.ts';
import { lookBeforeTls } from './tls-or-plain.ts';

export interface HttpServerLimits {
  readonly headerBytes: number;
  /** For a client to finish its TLS handshake, to send its headers, and to send its whole request. */
  readonly handshakeMs: number;
  readonly headersMs: number;
  readonly requestMs: number;
  /** For a connection on which nothing moves, such as one whose client does not read the response. */
  readonly stalledMs: number;
  readonly connections: number;
  /** Connections of one address that have not shown a good key. */
  readonly connectionsPerAddress: number;
  /** TLS handshakes of one address that did not lead to a good key. */
  readonly handshakes: Rate;
}

export const HTTP_SERVER_LIMITS: HttpServerLimits = {
  headerBytes: 16 * 1024,
  handshakeMs: 10_000,
  headersMs: 10_000,
  requestMs: 30_000,
  stalledMs: 60_000,
  connections: 10_000,
  connectionsPerAddress: 2_000,
  handshakes: { perMinute: 1_200, burst: 1_200 },
};

/** What of a request's address matters here; a URL is one. */
export interface RequestTarget {
  readonly pathname: string;
  readonly searchParams: URLSearchParams;
}

/** One request, and where its answer goes. */
export interface HttpExchange {
  readonly requestId: string;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly url: RequestTarget;
}

/** A request to speak another protocol on its connection. */
export interface HttpUpgrade {
  readonly requestId: string;
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Buffer;
  readonly url: RequestTarget;
}

export interface HttpServerOptions {
  readonly host: string;
  /** 0 for any that is free. */
  readonly port: number;
  /** PEM texts. */
  readonly tls?: { readonly cert: string; readonly key: string };
  readonly limits?: Partial<HttpServerLimits>;
  readonly handle: (exchange: HttpExchange) => Promise<void>;
  readonly upgrade: (upgrade: HttpUpgrade) => Promise<void>;
  /** Reports why one of them rejected; the connection is gone by then. */
  readonly caught?: (thrown: unknown) => void;
}

export interface HttpServer {
  readonly url: string;
  readonly port: number;
  readonly connections: number;
  /** Takes no more requests and ends all connections. */
  readonly close: () => Promise<void>;
}

/** Listens, with bounds on all that a client may make us wait for or keep. */
export async function serveHttp(options: HttpServerOptions): Promise<HttpServer> {
  const { host, port, tls, handle, upgrade, caught = () => {} } = options;
  const limits = { ...HTTP_SERVER_LIMITS, ...options.limits };
  const scheme = tls === undefined ? 'http' : 'https';
  const settings = {
    maxHeaderSize: limits.headerBytes,
    headersTimeout: limits.headersMs,
    requestTimeout: limits.requestMs,
    // Also an idle process is woken for it: no more often than the shortest patience needs.
    connectionsCheckingInterval: Math.min(limits.headersMs, limits.requestMs),
    keepAliveTimeout: 10_000,
  };
  const listener: RequestListener = (request, response) => {
    handle({ ...describe(request, scheme), request, response }).catch((thrown: unknown) => {
      response.destroy();
      caught(thrown);
    });
  };
  const server =
    tls === undefined ? createServer(settings, listener) : tlsServer({ ...settings, ...tls }, listener);
  server.maxConnections = limits.connections;
  const sockets = new Set<Socket>();
  server.on(tls === undefined ? 'connection' : 'secureConnection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  server.on('clientError', answerUnreadable);
  server.on('upgrade', (request, socket, head) => {
    socket.on('error', () => socket.destroy());
    upgrade({ ...describe(request, scheme), request, socket, head }).catch((thrown: unknown) => {
      socket.destroy();
      caught(thrown);
    });
  });
  const address = await listen(server, host, port);
  const name = address.family === 'IPv6' ? `[${address.address}]` : address.address;
  return {
    url: `${scheme}://${name}:${address.port}`,
    port: address.port,
    get connections() {
      return sockets.size;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

/** Who speaks plain HTTP to it is told so. */
function tlsServer(
  options: TlsServerOptions & { readonly headersTimeout: number },
  listener: RequestListener,
): Server {
  const server = createTlsServer(options, listener);
  lookBeforeTls(server, options.headersTimeout, (socket) =>
    refuseConnection(socket, [
      '400 Bad Request',
      'malformed_request',
      'this port speaks HTTPS: use https:// in the address',
    ]),
  );
  return server;
}

function describe(request: IncomingMessage, scheme: string): Pick<HttpExchange, 'requestId' | 'url'> {
  const given = request.headers['x-request-id'];
  const requestId = typeof given === 'string' && /^[\w-]{1,64}$/.test(given) ? given : randomUUID();
  return { requestId, url: targetOf(request.url ?? '/', scheme) };
}

/** To read an address costs as much as to answer it, and nearly all of them are plain paths. */
function targetOf(target: string, scheme: string): RequestTarget {
  if (PLAIN_PATH.test(target)) return { pathname: target, searchParams: NO_QUERY };
  // The host is looked at elsewhere: here it must only not spoil the reading of the path.
  const base = `${scheme}://host`;
  return URL.canParse(target, base) ? new URL(target, base) : NOWHERE;
}

function listen(server: Server, host: string, port: number): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    server.once('error', (thrown) => {
      const why =
        systemCodeOf(thrown) === 'EADDRINUSE' ? 'it is in use: choose another port' : messageOf(thrown);
      reject(
        new PolypodError('conflict', `cannot listen on ${host} port ${port}: ${why}`, { cause: thrown }),
      );
    });
    server.listen({ port, host, backlog: BACKLOG }, () => {
      const address = server.address();
      if (typeof address === 'object' && address !== null) resolve(address);
    });
  });
}

/**
 * Connections that the system keeps for us while we are busy; it takes less where its own limit is lower. Node's 511 is soon
 * full when a thousand watchers come back at once, and who finds it full tries again a whole second later.
 */
const BACKLOG = 4_096;

/** What came cannot be read as HTTP, or came too slowly: there is no request to answer, only a connection. */
function answerUnreadable(thrown: Error, socket: Duplex): void {
  refuseConnection(
    socket,
    UNREADABLE[systemCodeOf(thrown) ?? ''] ?? [
      '400 Bad Request',
      'malformed_request',
      'this is not HTTP/1.1',
    ],
  );
}

type Refused = readonly [status: string, word: string, message: string];

function refuseConnection(socket: Duplex, [status, word, message]: Refused): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const body = JSON.stringify({ error: { code: word, message } });
  socket.end(
    `HTTP/1.1 ${status}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
    () => socket.destroy(),
  );
}

const UNREADABLE: Readonly<Record<string, Refused>> = {
  ERR_HTTP_REQUEST_TIMEOUT: [
    '408 Request Timeout',
    'request_timeout',
    'the request took too long to arrive: send it again, faster',
  ],
  HPE_HEADER_OVERFLOW: [
    '431 Request Header Fields Too Large',
    'headers_too_large',
    'the headers are too large: send fewer or shorter ones',
  ],
};

/** Nothing in it that a URL would read otherwise: no dots at the beginning of a part, no escapes, no question. */
const PLAIN_PATH = /^(?:\/[\w~-][\w.~-]*)+$/;

/** Shared by all: nobody writes to it. */
const NO_QUERY = new URLSearchParams();

/** A path that no route has. */
const NOWHERE = new URL('http://host/%00');
