/** The Anthropic Messages API. */
import { arrayOf, objectOf, stringOf } from '../../base/index.ts';
import { type Account, keyHeaders } from '../account.ts';
import { interleavedThinkingBeta, usesEffort } from '../claude.ts';
import { defineProvider } from '../provider.ts';
import { lower } from './lower.ts';
import { initial, step } from './step.ts';
import { decode } from './frame.ts';

export const anthropic = defineProvider({
  name: 'anthropic',
  framing: 'sse',
  endpoint: (request, account) => {
    const beta = interleavedThinkingBeta(request);
    return {
      url: `${account.baseUrl}/v1/messages`,
      headers: {
        ...accountHeaders(account),
        ...(beta === undefined ? {} : { 'anthropic-beta': beta }),
      },
    };
  },
  models: (account) => ({
    url: `${account.baseUrl}/v1/models?limit=1000`,
    headers: accountHeaders(account),
  }),
  modelIds: (list) => arrayOf(objectOf(list).data).map((model) => stringOf(objectOf(model).id)),
  thinkingMode: (model) => (usesEffort(model) ? 'anthropic-adaptive' : 'budget'),
  lower,
  decode,
  initial,
  step,
});

/** Servers that expect the version in the body get no header for it. */
function accountHeaders(account: Account): Record<string, string> {
  const isInBody = account.bodyFields?.['anthropic_version'] !== undefined;
  return {
    ...(isInBody ? {} : { 'anthropic-version': '2023-06-01' }),
    ...keyHeaders(account, 'x-api-key'),
  };
}
