import { type JsonObject, numberOf, stringOf, withoutUndefined } from '../../base/index.ts';
import type { Failure, FailureKind } from '../../llm/index.ts';

/** The failure of a request to the model, from the frame that shows it to a user. */
export function apiFailure(frame: JsonObject, message: string): Failure {
  return failure(stringOf(frame.error), numberOf(frame.api_error_status), message);
}

/** The failure of a request that is repeated. */
export function retryFailure(frame: JsonObject): Failure {
  const code = stringOf(frame.error);
  const status = numberOf(frame.error_status);
  const reason = code === '' ? 'The request failed' : `The request failed: ${code}`;
  return failure(code, status, status === undefined ? reason : `${reason} (HTTP ${status})`);
}

/** The failure of a turn without a failed request. */
export function resultFailure(frame: JsonObject): Failure {
  const errors = Array.isArray(frame.errors) ? frame.errors.map(stringOf).filter((text) => text !== '') : [];
  const message =
    stringOf(frame.result) ||
    errors.join('; ') ||
    `Claude Code reported ${stringOf(frame.subtype) || 'an error'}.`;
  return failure('', numberOf(frame.api_error_status), message);
}

function failure(code: string, httpStatus: number | undefined, message: string): Failure {
  return {
    kind: kindOf(code, httpStatus, message),
    message: message === '' ? 'The request failed without a reason.' : message,
    ...(code !== '' && { code }),
    ...withoutUndefined({ httpStatus }),
  };
}

function kindOf(code: string, status: number | undefined, message: string): FailureKind {
  if (/prompt is too long|context window|context length/i.test(message)) return 'context-too-long';
  if (/not logged in|please run \/login|invalid api key/i.test(message)) return 'auth';
  if (code === 'billing_error') return 'quota';
  if (code === 'rate_limit') return 'rate-limit';
  const known = status === undefined ? undefined : STATUS_KINDS.get(status);
  if (known !== undefined) return known;
  if (code === 'authentication_failed') return 'auth';
  if (code === 'overloaded') return 'overloaded';
  if (status === undefined) return 'network';
  return status >= 500 ? 'server' : 'invalid-request';
}

const STATUS_KINDS: ReadonlyMap<number, FailureKind> = new Map([
  [401, 'auth'],
  [403, 'auth'],
  [402, 'quota'],
  [404, 'unknown-model'],
  [408, 'timeout'],
  [429, 'rate-limit'],
  [529, 'overloaded'],
]);
