import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TlsOptions } from 'node:tls';
import { messageOf, PolypodError, systemCodeOf } from '../../base/index.ts';
import { ConnectionTable } from './connection-table.ts';
import { httpRefusal } from './server-refusal.ts';
import { networkKey } from './network-address.ts';
import { type Rate, RateTable } from './rate-limit.ts';
import { detectPlainHttp } from './tls-or-plain.ts';

export interface HttpServerLimits {
  readonly headerBytes: number;
  /** Time limits for the TLS handshake, the headers, and the whole request. */
  readonly handshakeMs: number;
  readonly headersMs: number;
  readonly requestMs: number;
  /** Time limit for a connection without traffic, for example if the client does not read the response. */
  readonly stalledMs: number;
  readonly connections: number;
  /** Connections per address that have not sent a valid key. */
  readonly connectionsPerAddress: number;
  /** Connections per key. */
  readonly connectionsPerKey: number;
  /** TLS handshakes per address without a valid key afterwards. */
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
  connectionsPerKey: 4_000,
  handshakes: { perMinute: 1_200, burst: 1_200 },
};

/** A connection that was closed before it sent a valid request. */
export interface RefusedConnection {
  readonly remote: string;
  /** `malformed_request`, `request_timeout`, `headers_too_large`, `tls_failed`, `tls_timeout` … */
  readonly code: string;
}

export interface HttpServerOptions {
  readonly host: string;
  /** 0 selects a free port. */
  readonly port: number;
  /** PEM texts. */
  readonly tls?: {
    readonly cert: string;
    readonly key: string;
    /** Certificate authorities for client certificates. If set, clients must present a certificate. */
    readonly clientCa?: string;
  };
  readonly limits?: Partial<HttpServerLimits>;
  readonly handle: (request: IncomingMessage, response: ServerResponse) => void;
  /** Handles a request to switch protocols; `head` contains the bytes received after it. */
  readonly upgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) => void;
  /** Returns whether to send the reason to the client; otherwise the connection is only closed. */
  readonly onRefused?: (refused: RefusedConnection) => boolean;
}

export interface HttpServer {
  readonly url: string;
  readonly port: number;
  readonly connections: number;
  /** Call it when a valid key was received on a connection. Throws if that key has too many connections. */
  readonly trust: (socket: Socket, keyId: string) => void;
  /** Stops accepting requests and closes all connections. */
  readonly close: () => Promise<void>;
}

/** Listens with limits on everything that a client can make the server wait for or store. */
export async function serveHttp(options: HttpServerOptions): Promise<HttpServer> {
  const { host, port, tls, handle, upgrade, onRefused = () => true } = options;
  const limits = { ...HTTP_SERVER_LIMITS, ...options.limits };
  const table = new ConnectionTable(limits);
  const handshakes = new RateTable(limits.handshakes);
  const scheme = tls === undefined ? 'http' : 'https';
  const headersMs = Math.min(limits.headersMs, limits.requestMs);
  const settings = {
    maxHeaderSize: limits.headerBytes,
    headersTimeout: headersMs,
    requestTimeout: limits.requestMs,
    // Late requests are detected with this delay; each check wakes an idle process.
    connectionsCheckingInterval: Math.min(headersMs, CHECK_INTERVAL_MS),
    keepAliveTimeout: 10_000,
    // The guard rejects a missing Host header with a more helpful message.
    requireHostHeader: false,
  };
  const known = new WeakSet<Socket>();
  const trust = (socket: Socket, keyId: string): void => {
    if (known.has(socket)) return;
    const trusted = table.trust(socket, keyId);
    if (trusted !== 'full') known.add(socket);
    if (trusted === 'new') handshakes.refund(networkKey(socket.remoteAddress ?? ''));
    if (trusted === 'full')
      throw httpRefusal(
        429,
        'too_many_connections',
        `this key already has ${limits.connectionsPerKey} connections: close some`,
        { headers: { 'retry-after': '5', connection: 'close' } },
      );
  };
  const refuse = (socket: Duplex, refused: Refused): void => {
    const remote = socket instanceof Socket ? (socket.remoteAddress ?? '') : '';
    if (onRefused({ remote, code: refused[1] })) refuseConnection(socket, refused);
    else socket.destroy();
  };
  const server =
    tls === undefined
      ? createServer(settings, handle)
      : createTlsServer({ ...settings, ...tlsSettings(tls), handshakeTimeout: limits.handshakeMs }, handle);
  const secured = new WeakSet<Duplex>();
  if (tls !== undefined)
    detectPlainHttp(server, {
      handshakeMs: limits.handshakeMs,
      admit: ({ remoteAddress = '' }) => {
        if (handshakes.take(networkKey(remoteAddress)) === 0) return true;
        onRefused({ remote: remoteAddress, code: 'rate_limited' });
        return false;
      },
      refusePlain: (socket) => refuse(socket, SPEAKS_HTTPS),
      onSecured: (socket) => secured.add(socket),
      onStalled: ({ remoteAddress = '' }) => void onRefused({ remote: remoteAddress, code: 'tls_timeout' }),
    });
  // Before all other listeners, so that excess connections cost nothing more.
  server.prependListener('connection', (socket: Socket) => table.add(socket));
  // With 0, only the total header size is limited, and no header is dropped silently.
  server.maxHeadersCount = 0;
  server.setTimeout(limits.stalledMs);
  server.on('clientError', (thrown, socket) => {
    // A client that has not finished its handshake cannot receive a message: the write would wait forever.
    if (tls !== undefined && !secured.has(socket)) {
      // If the server closed the connection, it has already counted it.
      const remote = socket instanceof Socket ? socket.remoteAddress : undefined;
      if (remote !== undefined) onRefused({ remote, code: 'tls_failed' });
      socket.destroy();
    } else refuse(socket, UNREADABLE[systemCodeOf(thrown) ?? ''] ?? NOT_HTTP);
  });
  server.on('checkContinue', handle);
  server.on('checkExpectation', (request: IncomingMessage) => refuse(request.socket, UNEXPECTED));
  server.on('connect', (_, socket) => refuse(socket, NO_TUNNEL));
  server.on('upgrade', (request, socket, head) => {
    socket.on('error', () => socket.destroy());
    upgrade(request, socket, head);
  });
  const address = await listen(server, host, port);
  const name = address.family === 'IPv6' ? `[${address.address}]` : address.address;
  return {
    url: `${scheme}://${name}:${address.port}`,
    port: address.port,
    get connections() {
      return table.size;
    },
    trust,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        table.closeAll();
      }),
  };
}

function tlsSettings({ cert, key, clientCa }: NonNullable<HttpServerOptions['tls']>): TlsOptions {
  return {
    cert,
    key,
    ...(clientCa !== undefined && { ca: clientCa, requestCert: true, rejectUnauthorized: true }),
  };
}

/** How often Node checks for late requests. */
const CHECK_INTERVAL_MS = 5_000;

function listen(server: Server, host: string, port: number): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    server.once('error', (thrown) => {
      const reason =
        systemCodeOf(thrown) === 'EADDRINUSE' ? 'it is in use: choose another port' : messageOf(thrown);
      reject(
        new PolypodError('conflict', `cannot listen on ${host} port ${port}: ${reason}`, { cause: thrown }),
      );
    });
    server.listen({ port, host, backlog: BACKLOG }, () => {
      const address = server.address();
      if (typeof address === 'object' && address !== null) resolve(address);
    });
  });
}

/**
 * Connections that the system queues while the process is busy; the system may apply a lower limit. Node's 511
 * is too small when a thousand watchers reconnect at once, and a client that finds the queue full retries a
 * second later.
 */
const BACKLOG = 4_096;

type Refused = readonly [status: string, word: string, message: string];

/** Writes a raw response: there is no request to answer. */
function refuseConnection(socket: Duplex, [status, word, message]: Refused): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const body = JSON.stringify({ error: { code: word, message } });
  const head = [
    `HTTP/1.1 ${status}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'X-Content-Type-Options: nosniff',
    'Cache-Control: no-store',
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy());
}

const NOT_HTTP: Refused = ['400 Bad Request', 'malformed_request', 'this is not HTTP/1.1'];
const SPEAKS_HTTPS: Refused = [
  '400 Bad Request',
  'malformed_request',
  'this port uses HTTPS: use https:// in the URL',
];
const NO_TUNNEL: Refused = ['405 Method Not Allowed', 'method_not_allowed', 'this server is not a proxy'];
const UNEXPECTED: Refused = [
  '417 Expectation Failed',
  'expectation_failed',
  'only "Expect: 100-continue" is supported',
];
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
