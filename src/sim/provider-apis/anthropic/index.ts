/** Anthropic's Messages API. */
import { encodeSse } from '../../../wire/index.ts';
import { bearerKey } from '../content.ts';
import type { ProviderApi } from '../provider-api.ts';
import { streamError, errorResponse } from './errors.ts';
import { read } from './read.ts';
import { frames, fullResponse } from './write.ts';

export { VERTEX_PATH } from './read.ts';

export const anthropic: ProviderApi = {
  name: 'anthropic',
  streamType: 'text/event-stream; charset=utf-8',
  keepAlive: encodeSse('{"type": "ping"}', 'ping'),
  read,
  requestKey: (header) => header('x-api-key') || bearerKey(header),
  newId: (ids) => ids.next('msg_'),
  newCallId: (ids) => ids.next('toolu_'),
  frames,
  fullResponse,
  errorResponse,
  streamError,
  models: (ids) => ({
    data: ids.map((id) => ({
      type: 'model',
      id,
      display_name: id,
      created_at: '2025-01-01T00:00:00Z',
    })),
    has_more: false,
    first_id: ids[0] ?? null,
    last_id: ids.at(-1) ?? null,
  }),
  headers: (ids) => ({ 'request-id': ids.next('req_') }),
};
