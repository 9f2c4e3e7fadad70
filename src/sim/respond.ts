import type { ServerResponse } from 'node:http';
import type { SimAnswer } from './script/answer.ts';
import { type Fault, isErrorFault, PROVIDER_ERRORS, type ProviderError } from './script/fault.ts';
import type { Ids } from './ids.ts';
import { applyPace } from './pacing.ts';
import { clientGone, performSteps } from './perform-steps.ts';
import { resolveAnswer } from './script/reply.ts';
import type { SimRequest } from './request.ts';
import { applyAnswerFault } from './script/answer-fault.ts';
import { encodeText, responseSteps } from './steps.ts';
import type { ResponseContext, ProviderApi } from './provider-apis/index.ts';

export interface Exchange {
  readonly api: ProviderApi;
  readonly request: SimRequest;
  readonly response: ServerResponse;
  readonly ids: Ids;
  readonly now: () => number;
  readonly signal: AbortSignal;
  /** As sent by the client, for errors that quote it. */
  readonly key: string;
}

/** Sends the answer to the client, or the effect of its fault. */
export async function respond(exchange: Exchange, answer: SimAnswer): Promise<void> {
  const { fault } = answer;
  if (fault === undefined) return await sendAnswer(exchange, answer);
  if (isErrorFault(fault.kind)) return sendError(exchange, PROVIDER_ERRORS[fault.kind], '', fault);
  if (fault.kind === 'no-response') return await clientGone(exchange.signal);
  if (fault.kind === 'hang-up') return void exchange.response.destroy();
  if (fault.kind === 'html') return sendHtmlPage(exchange.response);
  // Without a stream, the error replaces the answer.
  if (fault.kind === 'error-in-stream' && !exchange.request.stream)
    return sendError(exchange, 'server', '', fault);
  return await sendAnswer(exchange, answer);
}

/** Sends an error in the provider's own shape. */
export function sendError(exchange: Exchange, error: ProviderError, message: string, fault?: Fault): void {
  const { api, request, response, ids, key } = exchange;
  const retryAfterSeconds = fault?.retryAfterSeconds ?? (fault?.kind === '429' ? 1 : undefined);
  const { status, body, headers } = api.errorResponse(error, {
    model: request.model,
    key,
    message,
    retryAfterSeconds,
  });
  sendJson(response, fault?.kind === '529' ? 529 : status, body, {
    ...api.headers(ids),
    ...headers,
    ...(retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) }),
  });
}

export function sendJson(
  response: ServerResponse,
  status: number,
  body: object,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}

async function sendAnswer(exchange: Exchange, answer: SimAnswer): Promise<void> {
  const { api, request, response, ids, now, signal } = exchange;
  const context: ResponseContext = { id: api.newId(ids), request, ids, now: now() };
  const reply = resolveAnswer(applyAnswerFault(answer, answer.fault, request), request, () =>
    api.newCallId(ids),
  );
  response.writeHead(200, {
    'content-type': request.stream ? api.streamType : 'application/json',
    ...(request.stream ? { 'cache-control': 'no-cache' } : {}),
    ...api.headers(ids),
  });
  response.flushHeaders();
  if (request.stream) {
    const steps = responseSteps(api.frames(reply, context), answer.fault, api, context);
    return await performSteps(response, applyPace(steps, answer.pace), signal);
  }
  const frame = { role: 'delta' as const, text: JSON.stringify(api.fullResponse(reply, context)) };
  const fault = answer.fault === undefined ? undefined : { ...answer.fault, after: 0 };
  await performSteps(response, responseSteps([frame], fault, api, context, encodeText), signal);
}

function sendHtmlPage(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' });
  response.end(
    '<!doctype html>\n<html><head><title>Sign in</title></head><body>Sign in to this network.</body></html>\n',
  );
}
