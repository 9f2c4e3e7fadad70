/** OpenAI's Responses API. */
import { openaiChat } from '../openai-chat/index.ts';
import type { ProviderApi } from '../provider-api.ts';
import { errorResponse } from './errors.ts';
import { read } from './read.ts';
import { streamError, frames, fullResponse } from './write.ts';

export const openaiResponses: ProviderApi = {
  name: 'openai-responses',
  streamType: 'text/event-stream; charset=utf-8',
  keepAlive: ': keep-alive\n\n',
  read,
  requestKey: openaiChat.requestKey,
  newId: (ids) => ids.next('resp_'),
  newCallId: openaiChat.newCallId,
  frames,
  fullResponse,
  errorResponse,
  streamError,
  models: openaiChat.models,
  headers: openaiChat.headers,
};
