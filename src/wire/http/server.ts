import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TlsOptions } from 'node:tls';
import { messageOf, PolypodError, systemCodeOf } from '../../base/index.ts';
import { ConnectionTable } from './connection-table.ts';
import { httpRefusal } from './server-refusal.ts';
import { networkOf } from './network-address.ts';
import { type Rate, RateTable } from './rate-limit.ts';
import { readTarget, type RequestTarget } from './request-target.ts';
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
  /** Connections of one key. */
  readonly connectionsPerKey: number;
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
  connectionsPerKey: 4_000,
  handshakes: { perMinute: 1_200, burst: 1_200 },
};

/** One request, and where its answer goes. */
export interface HttpExchange {
  /** Made by us. */
  readonly requestId: string;
  /** What the client calls the request, if it says so; any text. */
  readonly clientRequestId: string | undefined;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Undefined for a target that is no path. */
  readonly url: RequestTarget | undefined;
  /** A good key came over this connection. Refuses it if that key has too many connections. */
  readonly trust: (keyId: string) => void;
}

/** A request to speak another protocol on its connection. */
export interface HttpUpgrade {
  readonly requestId: string;
  readonly clientRequestId: string | undefined;
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Buffer;
  readonly url: RequestTarget | undefined;
  readonly trust: (keyId: string) => void;
}

/** A connection that was refused before there was a request. */
export interface RefusedConnection {
  readonly remote: string;
  /** `malformed_request`, `request_timeout`, `headers_too_large`, `tls_failed`, `tls_timeout` … */
  readonly word: string;
}

export interface HttpServerOptions {
  readonly host: string;
  /** 0 for any that is free. */
  readonly port: number;
  /** PEM texts. */
  readonly tls?: {
    readonly cert: string;
    readonly key: string;
    /** Authorities of client certificates. With them a client must show one. */
    readonly clientCa?: string;
  };
  readonly limits?: Partial<HttpServerLimits>;
  readonly handle: (exchange: HttpExchange) => Promise<void>;
  readonly upgrade: (upgrade: HttpUpgrade) => Promise<void>;
  /** Reports why one of them rejected; the connection is gone by then. */
  readonly caught?: (thrown: unknown) => void;
  /** Returns whether the client is told why; otherwise its connection is only closed. */
  readonly onRefused?: (refused: RefusedConnection) => boolean;
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
  const { host, port, tls, handle, upgrade, caught = () => {}, onRefused = () => true } = options;
  const limits = { ...HTTP_SERVER_LIMITS, ...options.limits };
  const table = new ConnectionTable(limits);
  const handshakes = new RateTable(limits.handshakes);
  const scheme = tls === undefined ? 'http' : 'https';
  const headersMs = Math.min(limits.headersMs, limits.requestMs);
  const settings = {
    maxHeaderSize: limits.headerBytes,
    headersTimeout: headersMs,
    requestTimeout: limits.requestMs,
    // What is late is found so much later: also an idle process is woken for it.
    connectionsCheckingInterval: Math.min(headersMs, CHECK_MS),
    keepAliveTimeout: 10_000,
    // Ours says what to do.
    requireHostHeader: false,
  };
  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    const exchange = {
      ...describe(request),
      request,
      response,
      trust: (keyId: string) => trust(request.socket, keyId),
    };
    handle(exchange).catch((thrown: unknown) => {
      response.destroy();
      caught(thrown);
    });
  };
  const trust = (socket: Socket, keyId: string): void => {
    const trusted = table.trust(socket, keyId);
    if (trusted === 'new') handshakes.refund(networkOf(socket.remoteAddress ?? ''));
    if (trusted === 'full')
      throw httpRefusal(
        429,
        'too_many_connections',
        `this key has ${limits.connectionsPerKey} connections already: close some`,
        { headers: { 'retry-after': '5', connection: 'close' } },
      );
  };
  const refuse = (socket: Duplex, refused: Refused): void => {
    const remote = socket instanceof Socket ? (socket.remoteAddress ?? '') : '';
    if (onRefused({ remote, word: refused[1] })) refuseConnection(socket, refused);
    else socket.destroy();
  };
  const server =
    tls === undefined
      ? createServer(settings, answer)
      : createTlsServer({ ...settings, ...tlsSettings(tls), handshakeTimeout: limits.handshakeMs }, answer);
  const secured = new WeakSet<Duplex>();
  if (tls !== undefined)
    lookBeforeTls(server, {
      handshakeMs: limits.handshakeMs,
      admit: ({ remoteAddress = '' }) => {
        if (handshakes.take(networkOf(remoteAddress)) === 0) return true;
        onRefused({ remote: remoteAddress, word: 'rate_limited' });
        return false;
      },
      refusePlain: (socket) => refuse(socket, SPEAKS_HTTPS),
      onSecured: (socket) => secured.add(socket),
      onStalled: ({ remoteAddress = '' }) => void onRefused({ remote: remoteAddress, word: 'tls_timeout' }),
    });
  // Before all other listeners: what is too much is not looked at.
  server.prependListener('connection', (socket: Socket) => table.add(socket));
  // With 0 there is no bound but that of all headers, and none is dropped unseen.
  server.maxHeadersCount = 0;
  server.setTimeout(limits.stalledMs);
  server.on('clientError', (thrown, socket) => {
    // Nothing can be said to a client that has not finished its handshake: what we write would wait for it for ever.
    if (tls !== undefined && !secured.has(socket)) {
      // A connection that was cut was counted by whoever cut it, if it was us.
      const remote = socket instanceof Socket ? socket.remoteAddress : undefined;
      if (remote !== undefined) onRefused({ remote, word: 'tls_failed' });
      socket.destroy();
    } else refuse(socket, UNREADABLE[systemCodeOf(thrown) ?? ''] ?? NOT_HTTP);
  });
  server.on('checkContinue', answer);
  server.on('checkExpectation', (request: IncomingMessage) => refuse(request.socket, UNEXPECTED));
  server.on('connect', (_, socket) => refuse(socket, NO_TUNNEL));
  server.on('upgrade', (request, socket, head) => {
    socket.on('error', () => socket.destroy());
    const begun = {
      ...describe(request),
      request,
      socket,
      head,
      trust: (keyId: string) => trust(request.socket, keyId),
    };
    upgrade(begun).catch((thrown: unknown) => {
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
      return table.size;
    },
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

/** How often Node looks for requests that are late. */
const CHECK_MS = 5_000;

function describe(request: IncomingMessage): Pick<HttpExchange, 'requestId' | 'clientRequestId' | 'url'> {
  const given = request.headers['x-request-id'];
  return {
    requestId: randomUUID(),
    clientRequestId: typeof given === 'string' ? given : undefined,
    url: readTarget(request.url ?? ''),
  };
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

type Refused = readonly [status: string, word: string, message: string];

/** There is no request to answer, only a connection. */
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
  'this port speaks HTTPS: use https:// in the address',
];
const NO_TUNNEL: Refused = ['405 Method Not Allowed', 'method_not_allowed', 'this server is no proxy'];
const UNEXPECTED: Refused = [
  '417 Expectation Failed',
  'expectation_failed',
  'only "Expect: 100-continue" is understood',
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
