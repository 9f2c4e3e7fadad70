/** Ollama's own API. */
import { bearer } from '../content.ts';
import type { Wire } from '../wire.ts';
import { breakOff, refuse } from './errors.ts';
import { read } from './read.ts';
import { frames, whole } from './write.ts';

export const ollama: Wire = {
  name: 'ollama',
  streamType: 'application/x-ndjson',
  keepAlive: '\n',
  read,
  keyOf: bearer,
  newId: () => '',
  newCallId: (ids) => ids.next('call_'),
  frames,
  whole,
  refuse,
  breakOff,
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
