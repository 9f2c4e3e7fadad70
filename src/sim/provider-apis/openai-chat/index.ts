/** OpenAI's Chat Completions API, which many other vendors implement. */
import { bearerKey } from '../content.ts';
import type { ProviderApi } from '../provider-api.ts';
import { streamError, errorResponse } from './errors.ts';
import { read } from './read.ts';
import { frames, fullResponse } from './write.ts';

export const openaiChat: ProviderApi = {
  name: 'openai-chat',
  streamType: 'text/event-stream; charset=utf-8',
  keepAlive: ': keep-alive\n\n',
  read,
  // Azure OpenAI has its own header for keys.
  requestKey: (header) => header('api-key') || bearerKey(header),
  newId: (ids) => ids.next('chatcmpl-'),
  newCallId: (ids) => ids.next('call_'),
  frames,
  fullResponse,
  errorResponse,
  streamError,
  models: (ids) => ({
    object: 'list',
    data: ids.map((id) => ({ id, object: 'model', created: 1735689600, owned_by: 'polypod-sim' })),
  }),
  headers: (ids) => ({ 'x-request-id': ids.next('req_') }),
};
