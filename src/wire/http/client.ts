import { withoutUndefined } from '../../base/index.ts';
import type { Agent, ClientRequest, IncomingMessage, request as requestHttp } from 'node:http';
import type { Readable } from 'node:stream';
import type { ConnectionOptions } from 'node:tls';
import { type Proxies, type Proxy, proxiesFrom, proxyFor } from './proxy.ts';
import type { TunnelSignal } from './tunnel-agent.ts';
import { explainProxyError, proxyRefusal } from './proxy-error.ts';

/** One HTTP exchange with a streaming response body. Passed as an argument wherever the network is used. */
export type Transport = (request: HttpRequest, watch: HttpWatch) => Promise<HttpResponse>;

export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface HttpWatch {
  /** Aborts the exchange at any point; the promise or the body's iteration then rejects. */
  readonly signal: AbortSignal;
  /** Called when the connection is established and the request is being sent. */
  readonly onOpen: () => void;
}

export interface HttpResponse {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Leaving the iteration early drains the rest of a finished response, so that the connection can be reused. */
  readonly body: AsyncIterable<Uint8Array>;
}

/** The transport over Node's HTTP client with keep-alive connections; callers handle redirects. */
export const httpTransport: Transport = createHttpTransport();

export interface TlsTrust {
  /** PEM certificates that replace the default certificate authorities. */
  readonly ca?: string;
  /** Accepts only the first certificate itself, for any host name. */
  readonly isPinned?: boolean;
  /** The client certificate and its key (PEM), for servers that require one. */
  readonly identity?: { readonly cert: string; readonly key: string };
}

/** Creates the transport for the proxies that the environment names, if any. */
export function transportFrom(env: Readonly<Record<string, string | undefined>>): Transport {
  const proxies = proxiesFrom(env);
  return proxies === undefined ? httpTransport : createHttpTransport(undefined, proxies);
}

/** Returns the transport for addresses that are reached through a proxy, and undefined for others. */
export function proxiedTransport(
  env: Readonly<Record<string, string | undefined>>,
): (url: string) => Transport | undefined {
  const proxies = proxiesFrom(env);
  if (proxies === undefined) return () => undefined;
  const transport = createHttpTransport(undefined, proxies);
  return (url) => (proxyFor(url, proxies) === undefined ? undefined : transport);
}

/** Creates a transport with custom certificates and proxies. */
export function createHttpTransport(trust?: TlsTrust, proxies?: Proxies): Transport {
  const routes = new Map<string, Promise<Route>>();
  return async (request, watch) => {
    const { protocol, host } = new URL(request.url);
    const proxy = proxyFor(request.url, proxies);
    const routeName = `${protocol} ${proxy?.url.origin ?? ''}`;
    const opening = routes.get(routeName) ?? openRoute(protocol, proxy, trust);
    routes.set(routeName, opening);
    const { send, agent, tls } = await opening;
    const tunnelSignal: TunnelSignal = { tunnelSignal: watch.signal };
    const isPassedOn = proxy !== undefined && protocol === 'http:';
    return new Promise((resolve, reject) => {
      const refuse = (error: Error): void =>
        reject(cleanTlsError(proxy === undefined ? error : explainProxyError(error, proxy)));
      const outgoing = send(
        isPassedOn ? proxy.url : request.url,
        {
          ...tls,
          method: request.method,
          headers: { ...requestHeaders(request), ...(isPassedOn && passedOnHeaders(proxy, host)) },
          ...(isPassedOn && { path: request.url }),
          agent,
          signal: watch.signal,
          ...tunnelSignal,
        },
        (incoming) => {
          outgoing.off('error', refuse);
          // From here on, the body reports a broken connection.
          outgoing.on('error', () => {});
          if (isPassedOn && incoming.statusCode === 407) {
            incoming.resume();
            reject(proxyRefusal(proxy, 407, host));
            return;
          }
          decompress(incoming).then(
            (body) =>
              resolve({
                status: incoming.statusCode ?? 0,
                headers: flatten(incoming),
                body: bodyChunks(body),
              }),
            reject,
          );
        },
      );
      outgoing.on('error', refuse);
      notifyOpen(outgoing, watch.onOpen);
      outgoing.end(request.body);
    });
  };
}

/** How requests of one protocol, directly or through one proxy, are sent. */
interface Route {
  readonly send: typeof requestHttp;
  readonly agent: Agent;
  readonly tls: ConnectionOptions;
}

async function openRoute(
  protocol: string,
  proxy: Proxy | undefined,
  trust: TlsTrust | undefined,
): Promise<Route> {
  const tls = trust === undefined || protocol === 'http:' ? {} : await tlsOptions(trust);
  if (proxy !== undefined && protocol === 'https:') {
    const { createTunnelAgent } = await import('./tunnel-agent.ts');
    return { send: (await import('node:https')).request, agent: await createTunnelAgent(proxy), tls };
  }
  const http =
    (proxy?.url.protocol ?? protocol) === 'http:' ? await import('node:http') : await import('node:https');
  return { send: http.request, agent: new http.Agent({ keepAlive: true }), tls };
}

/** The headers of an http request that the proxy passes on: the host is that of the server. */
function passedOnHeaders({ authorization }: Proxy, host: string): Record<string, string> {
  return { host, ...(authorization !== undefined && { 'proxy-authorization': authorization }) };
}

/** Extracts the reason from OpenSSL's error text, which also contains source locations. */
function cleanTlsError(error: Error): Error {
  const [, word = '', reason] = /:error:[\dA-F]+:(\w+) routines:[^:]*:([^:\n]+):/.exec(error.message) ?? [];
  if (reason === undefined) return error;
  const code = `ERR_${word}_${reason.trim().replaceAll(/\W+/g, '_').toUpperCase()}`;
  return Object.assign(new Error(`TLS failed: ${reason.trim()}`, { cause: error }), { code });
}

async function tlsOptions({ ca, isPinned = false, identity }: TlsTrust): Promise<ConnectionOptions> {
  if (!isPinned || ca === undefined) return { ...withoutUndefined({ ca }), ...identity };
  const { X509Certificate } = await import('node:crypto');
  const { raw } = new X509Certificate(ca);
  return {
    ca,
    ...identity,
    allowPartialTrustChain: true,
    checkServerIdentity: (_, certificate) =>
      certificate.raw.equals(raw)
        ? undefined
        : Object.assign(new Error('another certificate was shown'), { code: 'ERR_TLS_CERT_OTHER' }),
  };
}

function requestHeaders({ headers, body }: HttpRequest): Record<string, string | number> {
  // Compression would delay deltas until a block is full.
  const basic = { 'accept-encoding': 'identity', 'user-agent': 'polypod', ...headers };
  return body === undefined ? basic : { 'content-length': Buffer.byteLength(body), ...basic };
}

function notifyOpen(outgoing: ClientRequest, onOpen: () => void): void {
  outgoing.on('socket', (socket) => {
    if ('secureConnecting' in socket && socket.secureConnecting === true)
      socket.once('secureConnect', onOpen);
    else if (socket.connecting) socket.once('connect', onOpen);
    else onOpen();
  });
}

/** Some gateways compress although the request does not allow it. */
async function decompress(incoming: IncomingMessage): Promise<Readable> {
  const encoding = incoming.headers['content-encoding'];
  if (encoding !== 'gzip' && encoding !== 'br' && encoding !== 'deflate') return incoming;
  const zlib = await import('node:zlib');
  const unpack = { gzip: zlib.createGunzip, br: zlib.createBrotliDecompress, deflate: zlib.createInflate }[
    encoding
  ]();
  incoming.on('error', (error) => unpack.destroy(error));
  return incoming.pipe(unpack);
}

function flatten({ headers }: IncomingMessage): Record<string, string> {
  const flat: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) flat[name] = Array.isArray(value) ? value.join(', ') : value;
  }
  return flat;
}

/** How many chunks may wait for a slow reader before the connection is paused. */
const MAX_WAITING = 64;
/** How long to drain the rest of an unread response before the connection is closed. */
const DRAIN_MS = 1000;

/**
 * Returns the body as an async iterator over `data` events: a web stream costs about twice as much per chunk,
 * and a provider may send every delta as its own chunk.
 */
function bodyChunks(body: Readable): AsyncIterable<Uint8Array> {
  const waiting: Uint8Array[] = [];
  let wake: (() => void) | undefined;
  let failure: Error | undefined;
  let ended = false;
  const settle = (error?: Error): void => {
    failure ??= error;
    ended = true;
    wake?.();
  };
  body.on('data', (piece: Uint8Array) => {
    waiting.push(piece);
    if (waiting.length >= MAX_WAITING) body.pause();
    wake?.();
  });
  body.on('end', () => settle());
  body.on('error', settle);
  body.on('close', () => settle(body.readableEnded ? undefined : new Error('the connection closed early')));

  return {
    async *[Symbol.asyncIterator]() {
      try {
        for (;;) {
          const piece = waiting.shift();
          if (piece !== undefined) {
            yield piece;
            continue;
          }
          if (failure !== undefined) throw failure;
          if (ended) return;
          if (body.isPaused()) body.resume();
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
          wake = undefined;
        }
      } finally {
        if (!ended) drain(body);
      }
    },
  };
}

function drain(body: Readable): void {
  body.removeAllListeners('data');
  body.resume();
  const timer = setTimeout(() => body.destroy(), DRAIN_MS);
  timer.unref();
  body.once('close', () => clearTimeout(timer));
}
