/** Google's Gemini API, streamGenerateContent. */
import { arrayOf, objectOf, stringOf } from '../../base/index.ts';
import type { Account } from '../account.ts';
import { defineProvider } from '../provider.ts';
import { isGemini3, lower } from './lower.ts';
import { initial, step } from './step.ts';
import { decode } from './frame.ts';

export const gemini = defineProvider({
  name: 'gemini',
  framing: 'sse',
  endpoint: (request, account) => ({
    url: `${account.baseUrl}/models/${encodeURIComponent(request.model)}:streamGenerateContent?alt=sse`,
    headers: keyHeader(account),
  }),
  models: (account) => ({ url: `${account.baseUrl}/models?pageSize=1000`, headers: keyHeader(account) }),
  modelIds: (list) =>
    arrayOf(objectOf(list).models).map((model) => stringOf(objectOf(model).name).replace(/^models\//, '')),
  thinkingMode: (model) => (isGemini3(model) ? 'google-level' : 'budget'),
  lower,
  decode,
  initial,
  step,
});

/** The key is sent in a header, never in the URL, which may be logged. */
function keyHeader({ apiKey }: Account): Record<string, string> {
  return apiKey ? { 'x-goog-api-key': apiKey } : {};
}
