import { type Answer, generatedText, type Part } from './answer.ts';
import type { Fault } from './fault.ts';
import type { SimRequest } from '../request.ts';

/** The faults that are in what is said rather than in how it arrives. */
export function spoil(answer: Answer, fault: Fault | undefined, request: SimRequest): Answer {
  if (fault?.kind === 'huge-frame') {
    const bytes = fault.bytes ?? HUGE;
    return { ...answer, parts: [...answer.parts, { text: generatedText(bytes), chunkSize: bytes }] };
  }
  if (fault?.kind === 'duplicate-tool-ids') return { ...answer, parts: sameIds(answer.parts, request) };
  return answer;
}

/** Every call gets one id, and there are at least two of them. */
function sameIds(parts: readonly Part[], request: SimRequest): readonly Part[] {
  const calls = parts.filter((part) => 'toolCall' in part);
  const missing = Math.max(0, 2 - calls.length);
  const extra = calls[0] ?? { toolCall: { name: request.tools[0]?.name ?? 'sim_tool', arguments: {} } };
  return [...parts, ...Array.from({ length: missing }, () => extra)].map((part) =>
    'toolCall' in part ? { toolCall: { ...part.toolCall, id: 'call_duplicate' } } : part,
  );
}

const HUGE = 4 * 1024 * 1024;
