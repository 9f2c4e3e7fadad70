import type { ProviderError } from '../../script/fault.ts';
import type { ErrorContext, ErrorResponse } from '../provider-api.ts';

export function errorResponse(kind: ProviderError, context: ErrorContext): ErrorResponse {
  const [status, error] = ROWS[kind](context);
  return { status, body: { error } };
}

export function streamError(): string {
  return `${JSON.stringify({ error: 'an error was encountered while running the model: unexpected EOF' })}\n`;
}

/** A local Ollama requires no key; the hosted one does, and has rate limits. */
const ROWS: Record<ProviderError, (context: ErrorContext) => readonly [number, string]> = {
  'bad-key': () => [401, 'unauthorized'],
  'no-key': () => [401, 'unauthorized'],
  'unknown-model': ({ model }) => [404, `model '${model}' not found`],
  'rate-limit': () => [429, 'too many requests'],
  server: () => [500, 'llama runner process has terminated: exit status 2'],
  overloaded: () => [503, 'server busy, please try again.  maximum pending requests exceeded'],
  'context-too-long': () => [400, 'prompt too long; exceeded max context length by 4097 tokens'],
  'bad-request': ({ message }) => [400, message],
};
