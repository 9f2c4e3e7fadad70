/** The five APIs, and which of them a path belongs to. */
import { anthropic } from './anthropic/index.ts';
import { gemini, METHOD } from './gemini/index.ts';
import { ollama } from './ollama/index.ts';
import { openaiChat } from './openai-chat/index.ts';
import { openaiResponses } from './openai-responses/index.ts';
import type { Wire } from './wire.ts';

export type { Context, Frame, Wire } from './wire.ts';

export type Route = { readonly wire: Wire; readonly asks: 'answer' | 'models' | 'version' };

/** Only the end of a path counts, so that base URLs with any prefix work. */
export function routeOf(
  method: string,
  pathname: string,
  header: (name: string) => string,
): Route | undefined {
  const asked = `${method} ${pathname.replace(/\/+$/, '')}`;
  const wire = ANSWERS.find(([pattern]) => pattern.test(asked))?.[1];
  if (wire !== undefined) return { wire, asks: 'answer' };
  if (/^GET .*\/api\/version$/.test(asked)) return { wire: ollama, asks: 'version' };
  if (/^GET .*\/api\/tags$/.test(asked)) return { wire: ollama, asks: 'models' };
  if (/^GET .*\/models$/.test(asked)) return { wire: listedBy(asked, header), asks: 'models' };
  return undefined;
}

const ANSWERS: readonly (readonly [RegExp, Wire])[] = [
  [/^POST .*\/messages$/, anthropic],
  [/^POST .*\/chat\/completions$/, openaiChat],
  [/^POST .*\/responses$/, openaiResponses],
  [new RegExp(`^POST .*${METHOD.source}`), gemini],
  [/^POST .*\/api\/chat$/, ollama],
];

/** Three APIs list their models under one path; what else the client sends tells them apart. */
function listedBy(asked: string, header: (name: string) => string): Wire {
  if (header('anthropic-version') !== '') return anthropic;
  if (asked.endsWith('/v1beta/models') || header('x-goog-api-key') !== '') return gemini;
  return openaiChat;
}
