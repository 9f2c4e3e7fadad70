/** Google's Gemini API. */
import type { ProviderApi } from '../provider-api.ts';
import { streamError, errorResponse } from './errors.ts';
import { read } from './read.ts';
import { frames, fullResponse } from './write.ts';

export { METHOD_PATH } from './read.ts';

export const gemini: ProviderApi = {
  name: 'gemini',
  streamType: 'text/event-stream',
  keepAlive: ': keep-alive\n\n',
  read,
  requestKey: (header, url) => header('x-goog-api-key') || (url.searchParams.get('key') ?? ''),
  newId: (ids) => ids.next('resp-'),
  newCallId: () => undefined,
  frames,
  fullResponse,
  errorResponse,
  streamError,
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
