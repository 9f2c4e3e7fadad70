// The provider's own SDK, its raw stream: no accumulation, no helpers.
import { MODEL } from './answers.mjs';
import { serve } from './memory-fetch.mjs';

const BASE = 'http://127.0.0.1:9';
const MESSAGES = [{ role: 'user', content: 'go' }];

export async function open(wire) {
  const { start, textIn } = await SDK[wire]();
  return async (answer) => {
    serve(answer);
    let characters = 0;
    for await (const event of await start()) characters += textIn(event)?.length ?? 0;
    return characters;
  };
}

const SDK = {
  async anthropic() {
    const { default: Anthropic } = await import('@anthropic-ai/sdk');
    const client = new Anthropic({ apiKey: 'bench', baseURL: BASE });
    return {
      start: () =>
        client.messages.create({ model: MODEL, max_tokens: 1000, stream: true, messages: MESSAGES }),
      textIn: (event) => event.delta?.text,
    };
  },
  async 'openai-chat'() {
    const client = await openai();
    return {
      start: () => client.chat.completions.create({ model: MODEL, stream: true, messages: MESSAGES }),
      textIn: (event) => event.choices[0]?.delta.content,
    };
  },
  async 'openai-responses'() {
    const client = await openai();
    return {
      start: () => client.responses.create({ model: MODEL, stream: true, input: 'go' }),
      textIn: (event) => (event.type === 'response.output_text.delta' ? event.delta : undefined),
    };
  },
  async gemini() {
    const { GoogleGenAI } = await import('@google/genai');
    const client = new GoogleGenAI({ apiKey: 'bench', httpOptions: { baseUrl: BASE } });
    return {
      start: () => client.models.generateContentStream({ model: MODEL, contents: 'go' }),
      // Not `event.text`, a getter that warns and joins: the raw parts are compared for all candidates.
      textIn: (event) => event.candidates?.[0]?.content?.parts?.[0]?.text,
    };
  },
  async ollama() {
    const { Ollama } = await import('ollama');
    const client = new Ollama({ host: BASE });
    return {
      start: () => client.chat({ model: MODEL, messages: MESSAGES, stream: true }),
      textIn: (event) => event.message.content,
    };
  },
};

async function openai() {
  const { default: OpenAI } = await import('openai');
  return new OpenAI({ apiKey: 'bench', baseURL: `${BASE}/v1` });
}
