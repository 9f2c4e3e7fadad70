import { type SimAnswer, generatedText, type Part } from './answer.ts';
import type { Fault } from './fault.ts';
import type { SimRequest } from '../request.ts';

/** Applies the faults that change the content of an answer rather than its delivery. */
export function applyAnswerFault(
  answer: SimAnswer,
  fault: Fault | undefined,
  request: SimRequest,
): SimAnswer {
  if (fault?.kind === 'huge-frame') {
    const bytes = fault.bytes ?? HUGE;
    return { ...answer, parts: [...answer.parts, { text: generatedText(bytes), chunkSize: bytes }] };
  }
  if (fault?.kind === 'duplicate-tool-ids')
    return { ...answer, parts: withDuplicateIds(answer.parts, request) };
  return answer;
}

/** Gives all calls the same id, and adds calls until there are two. */
function withDuplicateIds(parts: readonly Part[], request: SimRequest): readonly Part[] {
  const calls = parts.filter((part) => 'toolCall' in part);
  const missing = Math.max(0, 2 - calls.length);
  const extra = calls[0] ?? { toolCall: { name: request.tools[0]?.name ?? 'sim_tool', arguments: {} } };
  return [...parts, ...Array.from({ length: missing }, () => extra)].map((part) =>
    'toolCall' in part ? { toolCall: { ...part.toolCall, id: 'call_duplicate' } } : part,
  );
}

const HUGE = 4 * 1024 * 1024;
