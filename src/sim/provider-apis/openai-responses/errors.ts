import type { ProviderError } from '../../script/fault.ts';
import { errorBody, INVALID, ROWS } from '../openai-chat/errors.ts';
import type { ErrorContext, ErrorResponse } from '../provider-api.ts';

/** Uses the errors of Chat Completions, except for a full context. */
export function errorResponse(kind: ProviderError, context: ErrorContext): ErrorResponse {
  if (kind !== 'context-too-long') {
    const [status, error] = ROWS[kind](context);
    return { status, body: { error } };
  }
  const error = { ...errorBody(INVALID, 'context_length_exceeded', TOO_LONG), param: 'input' };
  return { status: 400, body: { error } };
}

const TOO_LONG =
  'Your input exceeds the context window of this model. Please adjust your input and try again.';
