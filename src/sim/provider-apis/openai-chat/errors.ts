import type { JsonObject } from '../../../base/index.ts';
import { encodeSse } from '../../../wire/index.ts';
import type { ProviderError } from '../../script/fault.ts';
import type { ErrorContext, ErrorResponse } from '../provider-api.ts';

export function errorResponse(kind: ProviderError, context: ErrorContext): ErrorResponse {
  const [status, error] = ROWS[kind](context);
  return { status, body: { error } };
}

export function streamError(): string {
  return encodeSse(JSON.stringify({ error: errorBody('server_error', null, SERVER_ERROR) }));
}

/** The errors of both OpenAI APIs; the Responses API words a full context differently. */
export const ROWS: Record<ProviderError, (context: ErrorContext) => readonly [number, JsonObject]> = {
  'bad-key': ({ key }) => [401, errorBody(INVALID, 'invalid_api_key', badKey(key))],
  'no-key': () => [401, errorBody(INVALID, null, NO_KEY)],
  'unknown-model': ({ model }) => [
    404,
    errorBody(
      INVALID,
      'model_not_found',
      `The model \`${model}\` does not exist or you do not have access to it.`,
    ),
  ],
  'rate-limit': ({ model }) => [
    429,
    errorBody(
      'requests',
      'rate_limit_exceeded',
      `Rate limit reached for ${model} in organization org-sim on requests per min (RPM): Limit 3, Used 3, Requested 1.`,
    ),
  ],
  server: () => [500, errorBody('server_error', null, SERVER_ERROR)],
  overloaded: () => [503, errorBody('server_error', null, 'The server is overloaded or not ready yet.')],
  'context-too-long': () => [
    400,
    { ...errorBody(INVALID, 'context_length_exceeded', TOO_LONG), param: 'messages' },
  ],
  'bad-request': ({ message }) => [400, errorBody(INVALID, null, message)],
};

export function errorBody(type: string, code: string | null, message: string): JsonObject {
  return { message, type, param: null, code };
}

/** The real API quotes the key with its middle hidden. */
function badKey(key: string): string {
  const hidden = key.length > 8 ? `${key.slice(0, 3)}*****${key.slice(-4)}` : '*****';
  return `Incorrect API key provided: ${hidden}. You can find your API key at https://platform.openai.com/account/api-keys.`;
}

export const INVALID = 'invalid_request_error';
const NO_KEY =
  "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY).";
const SERVER_ERROR = 'The server had an error while processing your request. Sorry about that!';
const TOO_LONG =
  "This model's maximum context length is 128000 tokens. However, your messages resulted in 130512 tokens. Please reduce the length of the messages.";
