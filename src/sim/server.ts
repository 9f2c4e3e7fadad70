import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { asPolypodError, isObject, tryParse } from '../base/index.ts';
import { layPace, type Pace } from './script/answer.ts';
import type { Fault } from './script/fault.ts';
import { Ids } from './ids.ts';
import { type LoopbackServer, listenOnLoopback } from './loopback.ts';
import { offlineModel } from './script/offline-model.ts';
import { gather, type SimRequest } from './request.ts';
import { type Exchange, refuse, respond, sendJson } from './respond.ts';
import { Director, type Script } from './script/script.ts';
import { type Route, routeOf } from './wires/index.ts';

export interface SimOptions {
  /** Absent: the built-in offline model. */
  readonly script?: Script;
  /** 0, the default, takes a free one. */
  readonly port?: number;
  /** Keys that are accepted; absent: any, and none at all. */
  readonly keys?: readonly string[];
  /** Models that exist; absent: `sim` is listed and every name is answered. */
  readonly models?: readonly string[];
  /** For answers that have none of their own. */
  readonly pace?: Pace;
  readonly fault?: Fault;
  /** The time that answers carry. */
  readonly now?: () => number;
}

export interface Sim extends LoopbackServer {
  /** What was asked, oldest first; only the last 1000 are kept. */
  readonly requests: readonly Received[];
}

export interface Received {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** Parsed if it is JSON, else the text. */
  readonly body: unknown;
}

/** Starts a provider simulator on loopback; it speaks all five wires at once. */
export async function startSim(options: SimOptions = {}): Promise<Sim> {
  const requests: Received[] = [];
  const handle = handler(options, (received) => {
    requests.push(received);
    if (requests.length > KEEP) requests.shift();
  });
  return { ...(await listenOnLoopback(handle, options.port ?? 0)), requests };
}

function handler(options: SimOptions, received: (one: Received) => void) {
  const { keys, models, now = Date.now } = options;
  const director = new Director(options.script ?? offlineModel, options.fault);
  const ids = new Ids();

  return async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(incoming.url ?? '/', 'http://sim');
    const header = (name: string) => String(incoming.headers[name] ?? '');
    const text = await bodyOf(incoming);
    const body = tryParse(text);
    const { method = 'GET', headers } = incoming;
    received({ method, path: `${url.pathname}${url.search}`, headers, body: body ?? text });

    const route = routeOf(method, url.pathname, header);
    if (route === undefined) return sendJson(response, 404, { error: unknownPath(method, url.pathname) });
    const key = route.wire.keyOf(header, url);
    const request = isObject(body) ? route.wire.read(body, url) : emptyRequest(route);
    const exchange: Exchange = { wire: route.wire, request, response, ids, now, signal: gone(response), key };

    if (keys !== undefined && !keys.includes(key))
      return refuse(exchange, key === '' ? 'no-key' : 'bad-key', '');
    if (route.asks === 'version') return sendJson(response, 200, { version: OLLAMA_VERSION });
    if (route.asks === 'models') return sendJson(response, 200, route.wire.models(models ?? ['sim']));
    if (!isObject(body)) return refuse(exchange, 'bad-request', 'the body is not a JSON object');
    if (models !== undefined && !models.includes(request.model)) return refuse(exchange, 'unknown-model', '');
    await answer(exchange, director, options.pace);
  };
}

async function answer(exchange: Exchange, director: Director, pace: Pace | undefined): Promise<void> {
  try {
    const chosen = director.answer(exchange.request);
    await respond(exchange, { ...chosen, pace: layPace(pace, chosen.pace) });
  } catch (thrown) {
    if (exchange.response.headersSent) throw thrown;
    refuse(exchange, 'bad-request', asPolypodError(thrown).message);
  }
}

async function bodyOf(incoming: IncomingMessage): Promise<string> {
  let text = '';
  incoming.setEncoding('utf8');
  for await (const piece of incoming) text += String(piece);
  return text;
}

function gone(response: ServerResponse): AbortSignal {
  const controller = new AbortController();
  response.once('close', () => controller.abort());
  return controller.signal;
}

function emptyRequest({ wire }: Route): SimRequest {
  return { wire: wire.name, model: '', stream: false, system: '', messages: gather([]), tools: [], body: {} };
}

function unknownPath(method: string, path: string): string {
  return `the simulator has no ${method} ${path}; it has ${PATHS.join(', ')}`;
}

const PATHS = [
  'POST /v1/messages',
  'POST /v1/chat/completions',
  'POST /v1/responses',
  'POST /v1beta/models/<model>:streamGenerateContent',
  'POST /v1beta/models/<model>:generateContent',
  'POST /api/chat',
  'GET /v1/models',
  'GET /v1beta/models',
  'GET /api/tags',
  'GET /api/version',
];
const KEEP = 1000;
const OLLAMA_VERSION = '0.12.6';
