/** The six provider APIs, and the routes that select them. */
import { anthropic } from './anthropic/index.ts';
import { bedrock, CONVERSE_PATH } from './bedrock/index.ts';
import { gemini, METHOD_PATH } from './gemini/index.ts';
import { ollama } from './ollama/index.ts';
import { openaiChat } from './openai-chat/index.ts';
import { openaiResponses } from './openai-responses/index.ts';
import type { ProviderApi } from './provider-api.ts';
import { VERTEX_ROUTES } from './vertex.ts';

export type { ResponseContext, Frame, ProviderApi } from './provider-api.ts';

export type Route = { readonly api: ProviderApi; readonly endpoint: 'answer' | 'models' | 'version' };

/** Matches only the end of a path, so base URLs with any prefix work. */
export function matchRoute(
  method: string,
  pathname: string,
  header: (name: string) => string,
): Route | undefined {
  const requestLine = `${method} ${pathname.replace(/\/+$/, '')}`;
  const api = ANSWER_ROUTES.find(([pattern]) => pattern.test(requestLine))?.[1];
  if (api !== undefined) return { api, endpoint: 'answer' };
  if (/^GET .*\/api\/version$/.test(requestLine)) return { api: ollama, endpoint: 'version' };
  if (/^GET .*\/api\/tags$/.test(requestLine)) return { api: ollama, endpoint: 'models' };
  if (/^GET .*\/inference-profiles$/.test(requestLine)) return { api: bedrock, endpoint: 'models' };
  if (/^GET .*\/models$/.test(requestLine))
    return { api: modelListApi(requestLine, header), endpoint: 'models' };
  return undefined;
}

const ANSWER_ROUTES: readonly (readonly [RegExp, ProviderApi])[] = [
  ...VERTEX_ROUTES,
  [/^POST .*\/messages$/, anthropic],
  [/^POST .*\/chat\/completions$/, openaiChat],
  [/^POST .*\/responses$/, openaiResponses],
  [new RegExp(`^POST .*${METHOD_PATH.source}`), gemini],
  [/^POST .*\/api\/chat$/, ollama],
  [new RegExp(`^POST .*${CONVERSE_PATH.source}`), bedrock],
];

/** Three APIs list their models at the same path; headers and version prefix tell them apart. */
function modelListApi(requestLine: string, header: (name: string) => string): ProviderApi {
  if (header('anthropic-version') !== '') return anthropic;
  if (requestLine.endsWith('/v1beta/models') || header('x-goog-api-key') !== '') return gemini;
  return openaiChat;
}
