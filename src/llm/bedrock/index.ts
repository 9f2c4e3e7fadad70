/** Amazon Bedrock: ConverseStream, which serves the models of all vendors. */
import { arrayOf, objectOf, stringOf } from '../../base/index.ts';
import { bearer } from '../account.ts';
import { usesEffort } from '../claude.ts';
import { defineProvider } from '../provider.ts';
import { decode } from './frame.ts';
import { lower } from './lower.ts';
import { initial, step } from './step.ts';

export const bedrock = defineProvider({
  name: 'bedrock',
  framing: 'event-stream',
  endpoint: (request, account) => ({
    // Ids contain colons, and those of inference profiles can be ARNs with slashes.
    url: `${account.baseUrl}/model/${encodeURIComponent(request.model)}/converse-stream`,
    headers: { accept: 'application/vnd.amazon.eventstream', ...bearer(account) },
  }),
  // Most models are only available through inference profiles. Another host lists them.
  models: (account) => ({
    url: `${account.baseUrl.replace('//bedrock-runtime.', '//bedrock.')}/inference-profiles?maxResults=1000`,
    headers: bearer(account),
  }),
  modelIds: (list) =>
    arrayOf(objectOf(list).inferenceProfileSummaries).map((profile) =>
      stringOf(objectOf(profile).inferenceProfileId),
    ),
  thinkingMode: (model) =>
    !model.includes('claude') ? 'effort' : usesEffort(model) ? 'anthropic-adaptive' : 'budget',
  lower,
  decode,
  initial,
  step,
});
