import type { Answer } from './answer.ts';
import { withoutDirectives } from './directive.ts';
import { lastUserText, type SimRequest } from './request.ts';

/** Placeholder body, replaced below. */
export function offlineModel(request: SimRequest): Answer {
  return { parts: [{ text: `simulated: ${withoutDirectives(lastUserText(request))}` }] };
}
