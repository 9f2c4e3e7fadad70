/** Ollama's native chat API. */
import { arrayOf, objectOf, stringOf } from '../../base/index.ts';
import { bearer } from '../account.ts';
import { defineProvider } from '../provider.ts';
import { lower } from './lower.ts';
import { initial, step } from './step.ts';
import { decode } from './frame.ts';

export const ollama = defineProvider({
  name: 'ollama',
  framing: 'lines',
  endpoint: (_request, account) => ({ url: `${account.baseUrl}/api/chat`, headers: bearer(account) }),
  models: (account) => ({ url: `${account.baseUrl}/api/tags`, headers: bearer(account) }),
  modelIds: (list) => arrayOf(objectOf(list).models).map((model) => stringOf(objectOf(model).name)),
  lower,
  decode,
  initial,
  step,
});
