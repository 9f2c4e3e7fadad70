import type { ServerResponse } from 'node:http';
import type { Answer } from './script/answer.ts';
import { type Fault, isRefusal, REFUSALS, type Refusal } from './script/fault.ts';
import type { Ids } from './ids.ts';
import { paced } from './pacing.ts';
import { gone, perform } from './perform.ts';
import { settle } from './script/reply.ts';
import type { SimRequest } from './request.ts';
import { spoil } from './script/damage-reply.ts';
import { stepsOf } from './steps.ts';
import type { Context, Wire } from './wires/index.ts';

export interface Exchange {
  readonly wire: Wire;
  readonly request: SimRequest;
  readonly response: ServerResponse;
  readonly ids: Ids;
  readonly now: () => number;
  readonly signal: AbortSignal;
  /** As the client sent it, for refusals that quote it. */
  readonly key: string;
}

/** Gives the answer to the client, or what its fault makes of it. */
export async function respond(exchange: Exchange, answer: Answer): Promise<void> {
  const { fault } = answer;
  if (fault === undefined) return await speak(exchange, answer);
  if (isRefusal(fault.kind)) return refuse(exchange, REFUSALS[fault.kind], '', fault);
  if (fault.kind === 'no-response') return await gone(exchange.signal);
  if (fault.kind === 'hang-up') return void exchange.response.destroy();
  if (fault.kind === 'html') return html(exchange.response);
  // Without a stream there is no inside of one: the error comes instead of the answer.
  if (fault.kind === 'error-in-stream' && !exchange.request.stream)
    return refuse(exchange, 'server', '', fault);
  return await speak(exchange, answer);
}

/** An error in the provider's own shape. */
export function refuse(exchange: Exchange, refusal: Refusal, message: string, fault?: Fault): void {
  const { wire, request, response, ids, key } = exchange;
  const retryAfterSeconds = fault?.retryAfterSeconds ?? (fault?.kind === '429' ? 1 : undefined);
  const { status, body } = wire.refuse(refusal, { model: request.model, key, message, retryAfterSeconds });
  sendJson(response, fault?.kind === '529' ? 529 : status, body, {
    ...wire.headers(ids),
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

async function speak(exchange: Exchange, answer: Answer): Promise<void> {
  const { wire, request, response, ids, now, signal } = exchange;
  const context: Context = { id: wire.newId(ids), request, ids, now: now() };
  const reply = settle(spoil(answer, answer.fault, request), request, () => wire.newCallId(ids));
  response.writeHead(200, {
    'content-type': request.stream ? wire.streamType : 'application/json',
    ...(request.stream ? { 'cache-control': 'no-cache' } : {}),
    ...wire.headers(ids),
  });
  response.flushHeaders();
  if (request.stream) {
    const steps = stepsOf(wire.frames(reply, context), answer.fault, wire, context);
    return await perform(response, paced(steps, answer.pace), signal);
  }
  const frame = { role: 'delta' as const, text: JSON.stringify(wire.whole(reply, context)) };
  const fault = answer.fault === undefined ? undefined : { ...answer.fault, after: 0 };
  await perform(response, stepsOf([frame], fault, wire, context), signal);
}

function html(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' });
  response.end(
    '<!doctype html>\n<html><head><title>Sign in</title></head><body>Sign in to this network.</body></html>\n',
  );
}
