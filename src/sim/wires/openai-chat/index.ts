/** OpenAI's Chat Completions API, which many others speak too. */
import { bearer } from '../content.ts';
import type { Wire } from '../wire.ts';
import { breakOff, refuse } from './errors.ts';
import { read } from './read.ts';
import { frames, whole } from './write.ts';

export const openaiChat: Wire = {
  name: 'openai-chat',
  streamType: 'text/event-stream; charset=utf-8',
  keepAlive: ': keep-alive\n\n',
  read,
  keyOf: bearer,
  newId: (ids) => ids.next('chatcmpl-'),
  newCallId: (ids) => ids.next('call_'),
  frames,
  whole,
  refuse,
  breakOff,
  models: (ids) => ({
    object: 'list',
    data: ids.map((id) => ({ id, object: 'model', created: 1735689600, owned_by: 'polypod-sim' })),
  }),
  headers: (ids) => ({ 'x-request-id': ids.next('req_') }),
};
