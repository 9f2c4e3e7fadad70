import type { Refusal } from '../../script/fault.ts';
import { errorOf, INVALID, ROWS } from '../openai-chat/errors.ts';
import type { RefusalContext, Refused } from '../wire.ts';

/** As Chat Completions refuses, but for a full context. */
export function refuse(refusal: Refusal, context: RefusalContext): Refused {
  if (refusal !== 'context-too-long') {
    const [status, error] = ROWS[refusal](context);
    return { status, body: { error } };
  }
  const error = { ...errorOf(INVALID, 'context_length_exceeded', TOO_LONG), param: 'input' };
  return { status: 400, body: { error } };
}

const TOO_LONG =
  'Your input exceeds the context window of this model. Please adjust your input and try again.';
