/** OpenAI's Responses API. */
import { bearer } from '../account.ts';
import { parseModelIds } from '../model-list.ts';
import { defineProvider } from '../provider.ts';
import { lower } from './lower.ts';
import { initial, step } from './step.ts';
import { decode } from './frame.ts';

export const openaiResponses = defineProvider({
  name: 'openai-responses',
  framing: 'sse',
  endpoint: (_request, account) => ({ url: `${account.baseUrl}/responses`, headers: bearer(account) }),
  models: (account) => ({ url: `${account.baseUrl}/models`, headers: bearer(account) }),
  modelIds: parseModelIds,
  lower,
  decode,
  initial,
  step,
});
