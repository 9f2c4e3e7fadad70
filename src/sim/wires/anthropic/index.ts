/** Anthropic's Messages API. */
import { encodeSse } from '../../../wire/index.ts';
import { bearer } from '../content.ts';
import type { Wire } from '../wire.ts';
import { breakOff, refuse } from './errors.ts';
import { read } from './read.ts';
import { frames, whole } from './write.ts';

export const anthropic: Wire = {
  name: 'anthropic',
  streamType: 'text/event-stream; charset=utf-8',
  keepAlive: encodeSse('{"type": "ping"}', 'ping'),
  read,
  keyOf: (header) => header('x-api-key') || bearer(header),
  newId: (ids) => ids.next('msg_'),
  newCallId: (ids) => ids.next('toolu_'),
  frames,
  whole,
  refuse,
  breakOff,
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
