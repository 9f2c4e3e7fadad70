/** Google's Gemini API. */
import type { Wire } from '../wire.ts';
import { breakOff, refuse } from './errors.ts';
import { read } from './read.ts';
import { frames, whole } from './write.ts';

export { METHOD } from './read.ts';

export const gemini: Wire = {
  name: 'gemini',
  streamType: 'text/event-stream',
  keepAlive: ': keep-alive\n\n',
  read,
  keyOf: (header, url) => header('x-goog-api-key') || (url.searchParams.get('key') ?? ''),
  newId: (ids) => ids.next('resp-'),
  newCallId: () => undefined,
  frames,
  whole,
  refuse,
  breakOff,
  models: (ids) => ({
    models: ids.map((id) => ({
      name: `models/${id}`,
      version: '1',
      displayName: id,
      inputTokenLimit: 1_048_576,
      outputTokenLimit: 65_536,
      supportedGenerationMethods: ['generateContent', 'countTokens'],
    })),
  }),
  headers: () => ({}),
};
