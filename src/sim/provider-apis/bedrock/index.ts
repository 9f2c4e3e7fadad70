/** Amazon Bedrock's Converse and ConverseStream. */
import { bearerKey } from '../content.ts';
import type { ProviderApi } from '../provider-api.ts';
import { errorResponse, streamError } from './errors.ts';
import { read } from './read.ts';
import { signatureProblem } from './signature.ts';
import { encodeFrame, frames, fullResponse } from './write.ts';

export { CONVERSE_PATH } from './read.ts';

export const bedrock: ProviderApi = {
  name: 'bedrock',
  streamType: 'application/vnd.amazon.eventstream',
  // The API has no keep-alives; clients ignore events of unknown types.
  keepAlive: '{"ping":{}}',
  encodeFrame,
  read,
  requestKey: bearerKey,
  signatureProblem,
  newId: (ids) => ids.next('bedrock-'),
  newCallId: (ids) => ids.next('tooluse_'),
  frames,
  fullResponse,
  errorResponse,
  streamError,
  models: (ids) => ({
    inferenceProfileSummaries: ids.map((id) => ({
      inferenceProfileId: id,
      inferenceProfileName: id,
      status: 'ACTIVE',
      type: 'SYSTEM_DEFINED',
    })),
  }),
  headers: (ids) => ({ 'x-amzn-requestid': ids.next('req-') }),
};
