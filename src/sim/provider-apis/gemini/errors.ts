import type { JsonObject } from '../../../base/index.ts';
import type { ProviderError } from '../../script/fault.ts';
import type { ErrorContext, ErrorResponse } from '../provider-api.ts';
import { encodeEvent } from './write.ts';

export function errorResponse(error: ProviderError, context: ErrorContext): ErrorResponse {
  const [code, status, message, details] = ROWS[error](context);
  return { status: code, body: errorBody(code, status, message, details) };
}

export function streamError(): string {
  return encodeEvent(errorBody(503, 'UNAVAILABLE', OVERLOADED));
}

type Row = readonly [code: number, status: string, message: string, details?: readonly JsonObject[]];

const ROWS: Record<ProviderError, (context: ErrorContext) => Row> = {
  // Gemini returns 400 for a wrong key and 403 for a missing one.
  'bad-key': () => [400, 'INVALID_ARGUMENT', 'API key not valid. Please pass a valid API key.', [BAD_KEY]],
  'no-key': () => [403, 'PERMISSION_DENIED', NO_KEY],
  'unknown-model': ({ model }) => [404, 'NOT_FOUND', unknownModel(model)],
  'rate-limit': ({ retryAfterSeconds }) => [429, 'RESOURCE_EXHAUSTED', QUOTA, retryInfo(retryAfterSeconds)],
  server: () => [
    500,
    'INTERNAL',
    'An internal error has occurred. Please retry or report in https://developers.generativeai.google/guide/troubleshooting',
  ],
  overloaded: () => [503, 'UNAVAILABLE', OVERLOADED],
  'context-too-long': () => [
    400,
    'INVALID_ARGUMENT',
    'The input token count (1200000) exceeds the maximum number of tokens allowed (1048575).',
  ],
  'bad-request': ({ message }) => [400, 'INVALID_ARGUMENT', message],
};

function errorBody(
  code: number,
  status: string,
  message: string,
  details?: readonly JsonObject[],
): JsonObject {
  return { error: { code, message, status, ...(details === undefined ? {} : { details }) } };
}

function unknownModel(model: string): string {
  return `models/${model} is not found for API version v1beta, or is not supported for generateContent. Call ListModels to see the list of available models and their supported methods.`;
}

function retryInfo(seconds: number | undefined): readonly JsonObject[] {
  if (seconds === undefined) return [];
  return [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: `${seconds}s` }];
}

const BAD_KEY = {
  '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
  reason: 'API_KEY_INVALID',
  domain: 'googleapis.com',
  metadata: { service: 'generativelanguage.googleapis.com' },
};
const NO_KEY =
  "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or other form of API consumer identity to call this API.";
const QUOTA =
  'You exceeded your current quota, please check your plan and billing details. For more information on this error, head to: https://ai.google.dev/gemini-api/docs/rate-limits.';
const OVERLOADED = 'The model is overloaded. Please try again later.';
