// Vercel's AI SDK: streamText, all parts of its full stream.
import { streamText } from 'ai';
import { MODEL } from './answers.mjs';
import { serve } from './memory-fetch.mjs';

const BASE = 'http://127.0.0.1:9';
globalThis.AI_SDK_LOG_WARNINGS = false;

export async function open(wire) {
  const model = await MODELS[wire]();
  return async (answer) => {
    serve(answer);
    let characters = 0;
    for await (const part of streamText({ model, prompt: 'go', maxRetries: 0 }).fullStream) {
      if (part.type === 'text-delta') characters += part.text.length;
      else if (part.type === 'error') throw part.error;
    }
    return characters;
  };
}

const MODELS = {
  async anthropic() {
    const { createAnthropic } = await import('@ai-sdk/anthropic');
    return createAnthropic({ apiKey: 'bench', baseURL: `${BASE}/v1` })(MODEL);
  },
  'openai-chat': async () => (await openai()).chat(MODEL),
  'openai-responses': async () => (await openai()).responses(MODEL),
  async gemini() {
    const { createGoogleGenerativeAI } = await import('@ai-sdk/google');
    return createGoogleGenerativeAI({ apiKey: 'bench', baseURL: `${BASE}/v1beta` })(MODEL);
  },
};

async function openai() {
  const { createOpenAI } = await import('@ai-sdk/openai');
  return createOpenAI({ apiKey: 'bench', baseURL: `${BASE}/v1` });
}
