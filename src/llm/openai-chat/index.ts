/** OpenAI's Chat Completions API and the many servers that speak it. */
import { bearer } from '../account.ts';
import { parseModelIds } from '../model-list.ts';
import { defineProvider } from '../provider.ts';
import { lower } from './lower.ts';
import { initial, step } from './step.ts';
import { decode } from './frame.ts';

export const openaiChat = defineProvider({
  name: 'openai-chat',
  framing: 'sse',
  endpoint: (_request, account) => ({ url: `${account.baseUrl}/chat/completions`, headers: bearer(account) }),
  models: (account) => ({ url: `${account.baseUrl}/models`, headers: bearer(account) }),
  modelIds: parseModelIds,
  lower,
  decode,
  initial,
  step,
});
