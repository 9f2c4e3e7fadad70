import { type HttpRequest, type HttpResponse, type Transport, transportFrom } from './client.ts';
import { proxiesFrom } from './proxy.ts';

/** A `fetch` for the proxies that the environment names; undefined if it names none. */
export function fetchFrom(env: Readonly<Record<string, string | undefined>>): typeof fetch | undefined {
  return proxiesFrom(env) === undefined ? undefined : transportFetch(transportFrom(env));
}

/** Returns a `fetch` that uses a transport, for libraries that accept one. It follows redirects as `fetch` does. */
function transportFetch(transport: Transport): typeof fetch {
  return async (input, init) => {
    const request = new Request(input, init);
    const body = request.body === null ? undefined : await request.text();
    const firstMethod = methodOf(request);
    let [url, method] = [request.url, firstMethod];
    for (let redirects = 0; ; redirects += 1) {
      const response = await transport(
        {
          method,
          url,
          headers: headersFor(request, url),
          ...(method === firstMethod && body !== undefined && { body }),
        },
        { signal: request.signal, onOpen: () => {} },
      );
      const next = request.redirect === 'follow' ? redirectTarget(response, url) : undefined;
      if (next === undefined) return toResponse(response);
      if (redirects >= MAX_REDIRECTS) throw new TypeError(`${request.url} redirects too often`);
      for await (const _ of response.body);
      if (response.status === 303 || (method === 'POST' && response.status < 303)) method = 'GET';
      url = next;
    }
  };
}

function methodOf({ method }: Request): HttpRequest['method'] {
  if (method === 'GET' || method === 'POST' || method === 'DELETE') return method;
  throw new TypeError(`${method} requests are not supported here`);
}

const MAX_REDIRECTS = 20;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
/** Statuses whose responses have no body. */
const NO_BODY: ReadonlySet<number> = new Set([204, 205, 304]);

/** Another origin must not receive credentials. */
function headersFor(request: Request, url: string): Record<string, string> {
  const all = [...request.headers];
  const isSameOrigin = new URL(url).origin === new URL(request.url).origin;
  return Object.fromEntries(isSameOrigin ? all : all.filter(([name]) => SAFE_HEADERS.has(name)));
}

const SAFE_HEADERS: ReadonlySet<string> = new Set(['accept', 'accept-language', 'content-type']);

function redirectTarget({ status, headers }: HttpResponse, url: string): string | undefined {
  const { location } = headers;
  if (!REDIRECTS.has(status) || location === undefined) return undefined;
  return new URL(location, url).href;
}

function toResponse({ status, headers, body }: HttpResponse): Response {
  // The transport has already decompressed the body.
  const { 'content-encoding': _, 'content-length': __, ...kept } = headers;
  return new Response(NO_BODY.has(status) ? null : streamOf(body), { status, headers: kept });
}

function streamOf(body: AsyncIterable<Uint8Array>): ReadableStream<Uint8Array> {
  const pieces = body[Symbol.asyncIterator]();
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done = false, value } = await pieces.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    async cancel() {
      await pieces.return?.();
    },
  });
}
