/** Ollama's own API. */
import { bearerKey } from '../content.ts';
import type { ProviderApi } from '../provider-api.ts';
import { streamError, errorResponse } from './errors.ts';
import { read } from './read.ts';
import { frames, fullResponse } from './write.ts';

export const ollama: ProviderApi = {
  name: 'ollama',
  streamType: 'application/x-ndjson',
  keepAlive: '\n',
  read,
  requestKey: bearerKey,
  newId: () => '',
  newCallId: (ids) => ids.next('call_'),
  frames,
  fullResponse,
  errorResponse,
  streamError,
  models: (ids) => ({
    models: ids.map((id) => ({
      name: id,
      model: id,
      modified_at: '2025-01-01T00:00:00Z',
      size: 0,
      digest: 'sim',
      details: {
        format: 'sim',
        family: 'sim',
        families: ['sim'],
        parameter_size: '0',
        quantization_level: '',
      },
    })),
  }),
  headers: () => ({}),
};
