/** The Anthropic Messages API. */
import { arrayOf, objectOf, stringOf } from '../../base/index.ts';
import { defineProvider } from '../provider.ts';
import { lower, usesEffort } from './lower.ts';
import { initial, step } from './step.ts';
import { decode } from './frame.ts';

const VERSION = { 'anthropic-version': '2023-06-01' };

export const anthropic = defineProvider({
  name: 'anthropic',
  framing: 'sse',
  endpoint: (request, account) => ({
    url: `${account.baseUrl}/v1/messages`,
    headers: {
      ...VERSION,
      ...(account.apiKey ? { 'x-api-key': account.apiKey } : {}),
      // Without this header, a model with a thinking budget does not think between tool calls.
      ...(request.tools?.length &&
      request.thinking &&
      request.thinking !== 'off' &&
      !usesEffort(request.model)
        ? { 'anthropic-beta': 'interleaved-thinking-2025-05-14' }
        : {}),
    },
  }),
  models: (account) => ({
    url: `${account.baseUrl}/v1/models?limit=1000`,
    headers: { ...VERSION, ...(account.apiKey ? { 'x-api-key': account.apiKey } : {}) },
  }),
  modelIds: (list) => arrayOf(objectOf(list).data).map((model) => stringOf(objectOf(model).id)),
  thinkingMode: (model) => (usesEffort(model) ? 'anthropic-adaptive' : 'budget'),
  lower,
  decode,
  initial,
  step,
});
