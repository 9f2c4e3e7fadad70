import type { JsonObject } from '../../base/index.ts';
import type { ProviderError } from '../script/fault.ts';
import { anthropic, VERTEX_PATH } from './anthropic/index.ts';
import { bearerKey } from './content.ts';
import { gemini, METHOD_PATH } from './gemini/index.ts';
import type { ErrorContext, ErrorResponse, ProviderApi } from './provider-api.ts';

/** The models of Google and Anthropic on Vertex AI: the same bodies, other paths, and tokens as keys. */
export const VERTEX_ROUTES: readonly (readonly [RegExp, ProviderApi])[] = [
  [new RegExp(`^POST .*${VERTEX_PATH.source}`), onVertex(anthropic)],
  [new RegExp(`^POST .*/publishers/google${METHOD_PATH.source}`), onVertex(gemini)],
];

function onVertex(api: ProviderApi): ProviderApi {
  return {
    ...api,
    requestKey: bearerKey,
    errorResponse: (error, context) => vertexError(error, context) ?? api.errorResponse(error, context),
  };
}

/** Vertex AI checks the token and the model before it serves a model of any vendor. */
function vertexError(error: ProviderError, { model }: ErrorContext): ErrorResponse | undefined {
  if (error === 'bad-key' || error === 'no-key')
    return { status: 401, body: errorBody(401, 'UNAUTHENTICATED', NO_TOKEN) };
  if (error === 'unknown-model')
    return { status: 404, body: errorBody(404, 'NOT_FOUND', unknownModel(model)) };
  return undefined;
}

function errorBody(code: number, status: string, message: string): JsonObject {
  return { error: { code, message, status } };
}

function unknownModel(model: string): string {
  return `Publisher Model \`${model}\` was not found or your project does not have access to it. Please ensure you are using a valid model version.`;
}

const NO_TOKEN =
  'Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid authentication credential. See https://developers.google.com/identity/sign-in/web/devconsole-project.';
