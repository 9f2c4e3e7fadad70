import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { asPolypodError, messageOf } from '../../base/index.ts';
import type { HttpRequest, HttpResponse, Transport } from '../../wire/index.ts';
import { isOfConnection } from './cassette-secrets.ts';

/** Answers an HTTP client out of a transport, piece by piece; `baseUrl` stands before the path it asked for. */
export async function relay(
  transport: Transport,
  baseUrl: string,
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  // Node reports a write that lost the race with the client's leaving as an error; leaving is not one.
  response.on('error', () => {});
  const left = new AbortController();
  response.once('close', () => left.abort());
  const request = await requestFrom(incoming, baseUrl);
  if (typeof request === 'string') return refuse(response, 400, request);
  let answer: HttpResponse;
  try {
    answer = await transport(request, { signal: left.signal, onOpen: () => {} });
  } catch (thrown) {
    return refuse(response, statusOf(thrown), messageOf(thrown));
  }
  await send(answer, response, left.signal);
}

/** The client's request for the other side, or why it cannot be passed on. */
async function requestFrom(incoming: IncomingMessage, baseUrl: string): Promise<HttpRequest | string> {
  const { method, url = '' } = incoming;
  if (method !== 'GET' && method !== 'POST') return `${method} cannot be recorded: only GET and POST are`;
  if (!url.startsWith('/')) return `${url} is no path: point the client's base URL at this server`;
  const body = await bodyOf(incoming);
  if (body === undefined) return 'a body that is not UTF-8 text cannot be recorded';
  return {
    method,
    url: `${baseUrl}${url}`,
    headers: headersOf(incoming),
    ...(method === 'GET' && body === '' ? {} : { body }),
  };
}

async function bodyOf(incoming: IncomingMessage): Promise<string | undefined> {
  const bytes = await buffer(incoming);
  const text = bytes.toString('utf8');
  return bytes.equals(Buffer.from(text)) ? text : undefined;
}

/** Without what is meant for this server alone; a packed answer would be held back, and a recording of it unreadable. */
function headersOf({ headers }: IncomingMessage): Record<string, string> {
  const passed = Object.entries(headers).filter(([name]) => !isOfConnection(name) && !OURS.has(name));
  return Object.fromEntries(passed.map(([name, value]) => [name, String(value)]));
}

const OURS = new Set(['host', 'expect', 'accept-encoding', 'proxy-authorization']);

async function send(answer: HttpResponse, response: ServerResponse, left: AbortSignal): Promise<void> {
  const headers = Object.entries(answer.headers).filter(([name]) => !isOfConnection(name));
  response.writeHead(answer.status, Object.fromEntries(headers));
  response.flushHeaders();
  try {
    for await (const piece of answer.body) {
      if (!response.write(piece)) await once(response, 'drain', { signal: left });
    }
    response.end();
  } catch {
    // The other side broke off, or the client did: either way this connection ends as that one.
    await cut(response);
  }
}

/** Destroying a socket drops what it has not sent yet, and the cut is to come after it. */
async function cut(response: ServerResponse): Promise<void> {
  const { socket } = response;
  if (socket === null || socket.destroyed) return;
  await new Promise((resolve) => socket.write('', resolve));
  socket.destroy();
}

/** Clients take 404 for an unknown model, and 502 is HTTP's word for an other side that did not answer. */
function statusOf(thrown: unknown): number {
  return asPolypodError(thrown).code === 'internal' ? 502 : 400;
}

/** In a shape in which all clients find the sentence. */
function refuse(response: ServerResponse, status: number, message: string): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ type: 'error', error: { type: 'invalid_request_error', message } }));
}
