import type { JsonObject } from '../../../base/index.ts';
import { encodeSse } from '../../../wire/index.ts';
import type { ProviderError } from '../../script/fault.ts';
import type { ErrorContext, ErrorResponse } from '../provider-api.ts';

export function errorResponse(error: ProviderError, context: ErrorContext): ErrorResponse {
  const [status, type, message] = ROWS[error](context);
  return { status, body: errorBody(type, message) };
}

export function streamError(): string {
  return encodeSse(JSON.stringify(errorBody('overloaded_error', 'Overloaded')), 'error');
}

const ROWS: Record<ProviderError, (context: ErrorContext) => readonly [number, string, string]> = {
  'bad-key': () => [401, 'authentication_error', 'invalid x-api-key'],
  'no-key': () => [401, 'authentication_error', 'x-api-key header is required'],
  'unknown-model': ({ model }) => [404, 'not_found_error', `model: ${model}`],
  'rate-limit': () => [
    429,
    'rate_limit_error',
    "This request would exceed your account's rate limit. Please try again later.",
  ],
  server: () => [500, 'api_error', 'Internal server error'],
  overloaded: () => [529, 'overloaded_error', 'Overloaded'],
  'context-too-long': () => [
    400,
    'invalid_request_error',
    'prompt is too long: 208310 tokens > 200000 maximum',
  ],
  'bad-request': ({ message }) => [400, 'invalid_request_error', message],
};

function errorBody(type: string, message: string): JsonObject {
  return { type: 'error', error: { type, message } };
}
