import type { Agent, ClientRequest, IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import type { ConnectionOptions } from 'node:tls';

/** One HTTP exchange whose body streams in. Put in by argument wherever the network is used. */
export type Transport = (request: HttpRequest, watch: HttpWatch) => Promise<HttpResponse>;

export interface HttpRequest {
  readonly method: 'GET' | 'POST';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface HttpWatch {
  /** Ends the exchange at once, at whatever point it is; the promise or the body's iteration then rejects. */
  readonly signal: AbortSignal;
  /** The connection stands and the request is on its way. */
  readonly onOpen: () => void;
}

export interface HttpResponse {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Leaving the iteration early lets the rest of a finished answer drain, so that the connection can be used again. */
  readonly body: AsyncIterable<Uint8Array>;
}

/** The transport over Node's own HTTP client, with kept-alive connections; redirects are the caller's to judge. */
export const httpTransport: Transport = transportTrusting();

export interface Trust {
  /** Certificates, a PEM text, that are trusted in place of the usual ones. */
  readonly ca?: string;
  /** Only the first of them itself is good, whatever name it is for. */
  readonly isPinned?: boolean;
  /** What is shown to a server that wants a certificate of its clients: PEM texts of a certificate and its key. */
  readonly identity?: { readonly cert: string; readonly key: string };
}

/** The same with certificates of one's own. */
export function transportTrusting(trust?: Trust): Transport {
  const agents: Record<string, Agent | undefined> = {};
  return async (request, watch) => {
    const { protocol } = new URL(request.url);
    const http = protocol === 'http:' ? await import('node:http') : await import('node:https');
    const agent = (agents[protocol] ??= new http.Agent({
      keepAlive: true,
      ...(trust === undefined ? {} : await tlsOptions(trust)),
    }));
    return new Promise((resolve, reject) => {
      const refuse = (error: Error): void => reject(withoutDump(error));
      const outgoing = http.request(
        request.url,
        { method: request.method, headers: headersOf(request), agent, signal: watch.signal },
        (incoming) => {
          outgoing.off('error', refuse);
          // From here on a broken connection is reported by the body.
          outgoing.on('error', () => {});
          decompress(incoming).then(
            (body) =>
              resolve({ status: incoming.statusCode ?? 0, headers: flatten(incoming), body: pieces(body) }),
            reject,
          );
        },
      );
      outgoing.on('error', refuse);
      tellWhenOpen(outgoing, protocol === 'http:' ? 'connect' : 'secureConnect', watch.onOpen);
      outgoing.end(request.body);
    });
  };
}

/** OpenSSL tells where in its sources something went wrong; what went wrong is a part of that. */
function withoutDump(error: Error): Error {
  const [, word = '', reason] = /:error:[\dA-F]+:(\w+) routines:[^:]*:([^:\n]+):/.exec(error.message) ?? [];
  if (reason === undefined) return error;
  const code = `ERR_${word}_${reason.trim().replaceAll(/\W+/g, '_').toUpperCase()}`;
  return Object.assign(new Error(`TLS failed: ${reason.trim()}`, { cause: error }), { code });
}

async function tlsOptions({ ca, isPinned = false, identity }: Trust): Promise<ConnectionOptions> {
  if (!isPinned || ca === undefined) return { ...(ca !== undefined && { ca }), ...identity };
  const { X509Certificate } = await import('node:crypto');
  const { raw } = new X509Certificate(ca);
  return {
    ca,
    ...identity,
    allowPartialTrustChain: true,
    checkServerIdentity: (_, shown) =>
      shown.raw.equals(raw)
        ? undefined
        : Object.assign(new Error('another certificate was shown'), { code: 'ERR_TLS_CERT_OTHER' }),
  };
}

function headersOf({ headers, body }: HttpRequest): Record<string, string | number> {
  // Compression would hold deltas back until a block is full.
  const basic = { 'accept-encoding': 'identity', 'user-agent': 'polypod', ...headers };
  return body === undefined ? basic : { 'content-length': Buffer.byteLength(body), ...basic };
}

function tellWhenOpen(outgoing: ClientRequest, event: string, onOpen: () => void): void {
  outgoing.on('socket', (socket) => {
    if (socket.connecting) socket.once(event, onOpen);
    else onOpen();
  });
}

/** Some gateways compress although they were asked not to. */
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

/** How many pieces may wait for a slow reader before the connection is told to pause. */
const MAX_WAITING = 64;
/** How long the tail of an answer that nobody reads any more may take before the connection is given up. */
const DRAIN_MS = 1000;

/**
 * The body as an async iterator over `data` events: a web stream costs about twice as much per piece, and a provider
 * may send every delta as a piece of its own.
 */
function pieces(body: Readable): AsyncIterable<Uint8Array> {
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
