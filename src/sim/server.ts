import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { asPolypodError, isObject, tryParse } from '../base/index.ts';
import { mergePace, type Pace } from './script/answer.ts';
import type { Fault } from './script/fault.ts';
import { issueToken } from './google-tokens.ts';
import { Ids } from './ids.ts';
import { type LoopbackServer, listenOnLoopback } from './loopback.ts';
import { offlineModel } from './script/offline-model.ts';
import { groupMessages, type SimRequest } from './request.ts';
import { type Exchange, sendError, respond, sendJson } from './respond.ts';
import { ScriptRunner, type Script } from './script/script.ts';
import { type Route, matchRoute } from './provider-apis/index.ts';

export interface SimOptions {
  /** Absent: the built-in offline model. */
  readonly script?: Script;
  /** Start a list of answers again after its last one. */
  readonly loop?: boolean;
  /** 0, the default, selects a free port. */
  readonly port?: number;
  /**
   * Accepted keys; absent: any key, or none, is accepted. `ID:SECRET` is an access key of AWS, with which signatures of requests to
   * Bedrock are verified; without keys, only their form is.
   */
  readonly keys?: readonly string[];
  /** The tokens that Google's token servers issue, one after another; the last one is issued again. Default: the first key. */
  readonly tokens?: readonly string[];
  /** Available models; absent: `sim` is listed and every name is accepted. */
  readonly models?: readonly string[];
  /** For answers without a pace of their own. */
  readonly pace?: Pace;
  readonly fault?: Fault;
  /** The clock for timestamps in answers. */
  readonly now?: () => number;
}

export interface Sim extends LoopbackServer {
  /** The received requests, oldest first; only the last 1000 are kept. */
  readonly requests: readonly ReceivedRequest[];
}

export interface ReceivedRequest {
  readonly method: string;
  /** Includes the query. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** Parsed if it is JSON, otherwise the text. */
  readonly body: unknown;
}

/** Starts a provider simulator on loopback that serves all six provider APIs. */
export async function startSim(options: SimOptions = {}): Promise<Sim> {
  const requests: ReceivedRequest[] = [];
  const handle = handler(options, (received) => {
    requests.push(received);
    if (requests.length > MAX_REQUESTS) requests.shift();
  });
  return { ...(await listenOnLoopback(handle, options.port ?? 0)), requests };
}

function handler(options: SimOptions, received: (one: ReceivedRequest) => void) {
  const { keys, models, now = Date.now } = options;
  const runner = new ScriptRunner(options.script ?? offlineModel, options.fault, options.loop);
  const ids = new Ids();
  const tokens = [...(options.tokens ?? [keys?.[0] ?? 'ya29.simulated'])];
  const nextToken = (): string => (tokens.length > 1 ? tokens.shift() : tokens[0]) ?? '';

  return async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(incoming.url ?? '/', 'http://sim');
    const header = (name: string) => String(incoming.headers[name] ?? '');
    const text = await readBody(incoming);
    const body = tryParse(text);
    const { method = 'GET', headers } = incoming;
    received({ method, path: `${url.pathname}${url.search}`, headers, body: body ?? text });

    const token = issueToken({ method, pathname: url.pathname, header, text }, nextToken);
    if (token !== undefined) return sendJson(response, token.status, token.body, token.headers);
    const route = matchRoute(method, url.pathname, header);
    if (route === undefined) return sendJson(response, 404, { error: unknownPath(method, url.pathname) });
    const key = route.api.requestKey(header, url);
    const request = isObject(body) ? route.api.read(body, url) : emptyRequest(route);
    const exchange: Exchange = {
      api: route.api,
      request,
      response,
      ids,
      now,
      signal: disconnectSignal(response),
      key,
    };

    const problem = route.api.signatureProblem?.(
      { method, path: incoming.url ?? '/', header, body: text },
      keys,
    );
    if (problem !== undefined) return sendError(exchange, problem.error, problem.message);
    if (route.api.signatureProblem === undefined && keys !== undefined && !keys.includes(key))
      return sendError(exchange, key === '' ? 'no-key' : 'bad-key', '');
    if (route.endpoint === 'version') return sendJson(response, 200, { version: OLLAMA_VERSION });
    if (route.endpoint === 'models') return sendJson(response, 200, route.api.models(models ?? ['sim']));
    if (!isObject(body)) return sendError(exchange, 'bad-request', 'the body is not a JSON object');
    if (models !== undefined && !models.includes(request.model))
      return sendError(exchange, 'unknown-model', '');
    await answer(exchange, runner, options.pace);
  };
}

async function answer(exchange: Exchange, runner: ScriptRunner, pace: Pace | undefined): Promise<void> {
  try {
    const chosen = runner.answer(exchange.request);
    await respond(exchange, { ...chosen, pace: mergePace(pace, chosen.pace) });
  } catch (thrown) {
    if (exchange.response.headersSent) throw thrown;
    sendError(exchange, 'bad-request', asPolypodError(thrown).message);
  }
}

async function readBody(incoming: IncomingMessage): Promise<string> {
  let text = '';
  incoming.setEncoding('utf8');
  for await (const piece of incoming) text += String(piece);
  return text;
}

function disconnectSignal(response: ServerResponse): AbortSignal {
  const controller = new AbortController();
  response.once('close', () => controller.abort());
  return controller.signal;
}

function emptyRequest({ api }: Route): SimRequest {
  return {
    api: api.name,
    model: '',
    stream: false,
    system: '',
    messages: groupMessages([]),
    tools: [],
    body: {},
  };
}

function unknownPath(method: string, path: string): string {
  return `the simulator has no route ${method} ${path}; available: ${PATHS.join(', ')}`;
}

const PATHS = [
  'POST /v1/messages',
  'POST /v1/chat/completions',
  'POST /v1/responses',
  'POST /v1beta/models/<model>:streamGenerateContent',
  'POST /v1beta/models/<model>:generateContent',
  'POST …/publishers/google/models/<model>:streamGenerateContent',
  'POST …/publishers/anthropic/models/<model>:streamRawPredict',
  'POST /token',
  'POST /api/chat',
  'POST /model/<model>/converse-stream',
  'POST /model/<model>/converse',
  'GET /v1/models',
  'GET /v1beta/models',
  'GET /api/tags',
  'GET /api/version',
  'GET /inference-profiles',
];
const MAX_REQUESTS = 1000;
const OLLAMA_VERSION = '0.12.6';
