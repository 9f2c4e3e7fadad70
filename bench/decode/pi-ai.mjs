// pi's provider layer: like ours, it converts every provider API to one event vocabulary.
import { stream } from '@mariozechner/pi-ai';
import { MODEL } from './answers.mjs';
import { serve } from './memory-fetch.mjs';

const BASE = 'http://127.0.0.1:9';

export function open(wire) {
  const model = {
    ...APIS[wire],
    id: MODEL,
    name: MODEL,
    reasoning: false,
    input: ['text'],
    cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
    contextWindow: 1_000_000,
    maxTokens: 100_000,
  };
  return async (answer) => {
    serve(answer);
    let characters = 0;
    const context = { messages: [{ role: 'user', content: 'go', timestamp: 0 }] };
    for await (const event of stream(model, context, { apiKey: 'bench' })) {
      if (event.type === 'text_delta') characters += event.delta.length;
      else if (event.type === 'error') throw new Error(event.error?.errorMessage ?? 'pi-ai failed');
    }
    return characters;
  };
}

const APIS = {
  anthropic: { api: 'anthropic-messages', provider: 'anthropic', baseUrl: BASE },
  'openai-chat': { api: 'openai-completions', provider: 'openai', baseUrl: `${BASE}/v1` },
  'openai-responses': { api: 'openai-responses', provider: 'openai', baseUrl: `${BASE}/v1` },
  gemini: { api: 'google-generative-ai', provider: 'google', baseUrl: `${BASE}/v1beta` },
};
