import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { asPolypodError, messageOf } from '../../base/index.ts';
import type { HttpRequest, HttpResponse, Transport } from '../../wire/index.ts';
import { isHopByHopHeader } from './cassette-secrets.ts';

/** Answers an HTTP client from a transport, chunk by chunk; `baseUrl` is prepended to the requested path. */
export async function relay(
  transport: Transport,
  baseUrl: string,
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  // Node reports a write that races with a client disconnect as an error; a disconnect is not one.
  response.on('error', () => {});
  const clientGone = new AbortController();
  response.once('close', () => clientGone.abort());
  const request = await requestFrom(incoming, baseUrl);
  if (typeof request === 'string') return sendError(response, 400, request);
  let answer: HttpResponse;
  try {
    answer = await transport(request, { signal: clientGone.signal, onOpen: () => {} });
  } catch (thrown) {
    return sendError(response, statusFor(thrown), messageOf(thrown));
  }
  await send(answer, response, clientGone.signal);
}

/** Returns the request to forward, or the reason why it cannot be forwarded. */
async function requestFrom(incoming: IncomingMessage, baseUrl: string): Promise<HttpRequest | string> {
  const { method, url = '' } = incoming;
  if (method !== 'GET' && method !== 'POST')
    return `${method} cannot be recorded: only GET and POST are supported`;
  if (!url.startsWith('/')) return `${url} is not a path: use this server as the client's base URL`;
  const body = await readBody(incoming);
  if (body === undefined) return 'a body that is not UTF-8 text cannot be recorded';
  return {
    method,
    url: `${baseUrl}${url}`,
    headers: forwardedHeaders(incoming),
    ...(method === 'GET' && body === '' ? {} : { body }),
  };
}

async function readBody(incoming: IncomingMessage): Promise<string | undefined> {
  const bytes = await buffer(incoming);
  const text = bytes.toString('utf8');
  return bytes.equals(Buffer.from(text)) ? text : undefined;
}

/** Drops the headers for this server only. Compressed responses would be buffered and unreadable in a recording. */
function forwardedHeaders({ headers }: IncomingMessage): Record<string, string> {
  const passed = Object.entries(headers).filter(
    ([name]) => !isHopByHopHeader(name) && !NOT_FORWARDED.has(name),
  );
  return Object.fromEntries(passed.map(([name, value]) => [name, String(value)]));
}

const NOT_FORWARDED = new Set(['host', 'expect', 'accept-encoding', 'proxy-authorization']);

async function send(answer: HttpResponse, response: ServerResponse, clientGone: AbortSignal): Promise<void> {
  const headers = Object.entries(answer.headers).filter(([name]) => !isHopByHopHeader(name));
  response.writeHead(answer.status, Object.fromEntries(headers));
  response.flushHeaders();
  try {
    for await (const piece of answer.body) {
      if (!response.write(piece)) await once(response, 'drain', { signal: clientGone });
    }
    response.end();
  } catch {
    // The provider or the client broke the connection; break the other side as well.
    await cut(response);
  }
}

/** Destroying a socket discards unsent data, so this waits until everything before the cut is flushed. */
async function cut(response: ServerResponse): Promise<void> {
  const { socket } = response;
  if (socket === null || socket.destroyed) return;
  await new Promise((resolve) => socket.write('', resolve));
  socket.destroy();
}

/** Clients treat 404 as an unknown model. 502 means that the upstream server did not answer. */
function statusFor(thrown: unknown): number {
  return asPolypodError(thrown).code === 'internal' ? 502 : 400;
}

/** Sends an error in a shape in which all clients find the message. */
function sendError(response: ServerResponse, status: number, message: string): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ type: 'error', error: { type: 'invalid_request_error', message } }));
}
