import type { ProviderError } from '../../script/fault.ts';
import type { ErrorContext, ErrorResponse } from '../provider-api.ts';

export function errorResponse(error: ProviderError, context: ErrorContext): ErrorResponse {
  const [status, type, message] = ROWS[error](context);
  return {
    status,
    body: { message },
    headers: { 'x-amzn-errortype': `${type}:http://internal.amazon.com/coral/com.amazon.bedrock/` },
  };
}

export function streamError(): string {
  return JSON.stringify({ serviceUnavailableException: { message: UNAVAILABLE } });
}

const ROWS: Record<ProviderError, (context: ErrorContext) => readonly [number, string, string]> = {
  'bad-key': ({ message }) => [
    403,
    'UnrecognizedClientException',
    message || 'The security token included in the request is invalid.',
  ],
  'no-key': ({ message }) => [
    403,
    'MissingAuthenticationTokenException',
    message || 'Missing Authentication Token',
  ],
  'unknown-model': ({ model }) => [404, 'ResourceNotFoundException', `Could not resolve the model ${model}`],
  'rate-limit': () => [429, 'ThrottlingException', 'Too many tokens, please wait before trying again.'],
  server: () => [
    500,
    'InternalServerException',
    'The system encountered an unexpected error during processing. Try your request again.',
  ],
  overloaded: () => [503, 'ServiceUnavailableException', UNAVAILABLE],
  'context-too-long': () => [400, 'ValidationException', 'Input is too long for requested model.'],
  'bad-request': ({ message }) => [400, 'ValidationException', message],
};

const UNAVAILABLE = 'Bedrock is unable to process your request.';
