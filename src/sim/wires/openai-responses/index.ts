/** OpenAI's Responses API. */
import { openaiChat } from '../openai-chat/index.ts';
import type { Wire } from '../wire.ts';
import { refuse } from './errors.ts';
import { read } from './read.ts';
import { breakOff, frames, whole } from './write.ts';

export const openaiResponses: Wire = {
  name: 'openai-responses',
  streamType: 'text/event-stream; charset=utf-8',
  keepAlive: ': keep-alive\n\n',
  read,
  keyOf: openaiChat.keyOf,
  newId: (ids) => ids.next('resp_'),
  newCallId: openaiChat.newCallId,
  frames,
  whole,
  refuse,
  breakOff,
  models: openaiChat.models,
  headers: openaiChat.headers,
};
