import {
  type ErrorCode,
  truncateErrorMessage,
  type PolypodError,
  withoutUndefined,
} from '../../base/index.ts';
import { type HttpRefusal, httpRefusal, httpRefusalFrom } from '../../wire/index.ts';
import type { ErrorReply } from './wire.ts';

/** Maps error codes to those of the protocol. */
const CODES: Readonly<Record<ErrorCode, readonly [status: number, word: string]>> = {
  'bad-request': [400, 'invalid_request'],
  'unknown-method': [404, 'not_found'],
  'not-found': [404, 'not_found'],
  conflict: [409, 'conflict'],
  denied: [403, 'forbidden'],
  overloaded: [429, 'overloaded'],
  unreachable: [500, 'provider_error'],
  'provider-failed': [500, 'provider_error'],
  'tool-failed': [500, 'tool_error'],
  internal: [500, 'internal'],
};

export interface WireError extends HttpRefusal {
  readonly body: ErrorReply;
}

/** Encodes an error for a client. For an internal error, it contains only the request id. */
export function wireError(error: PolypodError, requestId: string): WireError {
  const [status, word] = CODES[error.code];
  const refusal = httpRefusalFrom(error) ?? { status, code: word };
  const isBug = error.code === 'internal';
  const message = isBug
    ? 'internal error: see the log entry with this request id'
    : truncateErrorMessage(error.message);
  const details = isBug ? { requestId } : refusal.details;
  return { ...refusal, body: { error: { code: refusal.code, message, ...withoutUndefined({ details }) } } };
}

/** A field of the request is invalid. */
export function wrongField(field: string, message: string): PolypodError {
  return httpRefusal(400, 'invalid_request', `${field} ${message}`, { details: { field } });
}

/** A field requests more than the key permits. */
export function notForKey(field: string, message: string): PolypodError {
  return httpRefusal(403, 'outside_key', `${field}: ${message}`, { details: { field } });
}

/** Also returned for something that belongs to another owner. */
export function unknown(what: string): PolypodError {
  return httpRefusal(404, 'not_found', `there is no ${what}`);
}

/** The agent accepts no new work. */
export function drainingError(): PolypodError {
  return httpRefusal(503, 'draining', 'the agent is stopping: try again later', {
    headers: { 'retry-after': '10' },
  });
}
