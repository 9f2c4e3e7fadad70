/** Google's Gemini API, streamGenerateContent. */
import { arrayOf, objectOf, stringOf } from '../../base/index.ts';
import { keyHeaders } from '../account.ts';
import { defineProvider } from '../provider.ts';
import { isGemini3, lower } from './lower.ts';
import { initial, step } from './step.ts';
import { decode } from './frame.ts';

const KEY_HEADER = 'x-goog-api-key';

export const gemini = defineProvider({
  name: 'gemini',
  framing: 'sse',
  endpoint: (request, account) => ({
    url: `${account.baseUrl}/models/${encodeURIComponent(request.model)}:streamGenerateContent?alt=sse`,
    // The key is sent in a header, never in the URL, which may be logged.
    headers: keyHeaders(account, KEY_HEADER),
  }),
  models: (account) => ({
    url: `${account.baseUrl}/models?pageSize=1000`,
    headers: keyHeaders(account, KEY_HEADER),
  }),
  modelIds: (list) =>
    arrayOf(objectOf(list).models).map((model) => stringOf(objectOf(model).name).replace(/^models\//, '')),
  thinkingMode: (model) => (isGemini3(model) ? 'google-level' : 'budget'),
  lower,
  decode,
  initial,
  step,
});
