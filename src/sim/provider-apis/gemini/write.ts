import type { JsonObject } from '../../../base/index.ts';
import type { Stop } from '../../script/answer.ts';
import { callArguments, type Reply, type ReplyCall, type ReplyPart } from '../../script/reply.ts';
import { type ReplyStep, replySteps } from '../../script/reply-steps.ts';
import type { ResponseContext, Frame } from '../provider-api.ts';

/** Streams chunks that are small responses. Calls arrive complete, and the finish reason has its own chunk. */
export function* frames(reply: Reply, context: ResponseContext): Generator<Frame> {
  const chunk = chunkWriter(reply, context);
  const takeSignature = signatureSource(reply);
  let calls: JsonObject[] = [];
  for (const step of replySteps(reply)) {
    const part = encodeStep(step, takeSignature);
    if (part === undefined) continue;
    // Calls that other APIs interleave arrive in one chunk here.
    if (step.part.type === 'call') calls.push(part);
    else yield chunk([part]);
    if (step.part.type === 'call' && !(reply.interleave && nextIsCall(reply, step.index))) {
      yield chunk(calls);
      calls = [];
    }
  }
  yield chunk([{ text: '', ...takeSignature() }], STOPS[reply.stop]);
}

/** Returns the complete response without streaming. */
export function fullResponse(reply: Reply, context: ResponseContext): JsonObject {
  const takeSignature = signatureSource(reply);
  const parts = reply.parts.flatMap((part) => fullPart(part, takeSignature));
  const unsentSignature = takeSignature();
  if (unsentSignature['thoughtSignature'] !== undefined) parts.push({ text: '', ...unsentSignature });
  return { ...candidateFields(parts, STOPS[reply.stop]), ...tail(reply, context) };
}

function encodeStep(step: ReplyStep, takeSignature: SignatureSource): JsonObject | undefined {
  const { part } = step;
  if (part.type === 'call') return step.type === 'close' ? callPart(part, takeSignature) : undefined;
  if (step.type !== 'delta' || part.type === 'redacted') return undefined;
  return part.type === 'thinking' ? { text: step.text, thought: true } : { text: step.text };
}

function fullPart(part: ReplyPart, takeSignature: SignatureSource): readonly JsonObject[] {
  if (part.type === 'redacted') return [];
  if (part.type === 'call') return [callPart(part, takeSignature)];
  return [part.type === 'thinking' ? { text: part.text, thought: true } : { text: part.text }];
}

function callPart(call: ReplyCall, takeSignature: SignatureSource): JsonObject {
  const id = call.id === undefined ? {} : { id: call.id };
  const args = call.text === undefined ? {} : { args: callArguments(call) };
  return { functionCall: { ...id, name: call.name, ...args }, ...takeSignature() };
}

type SignatureSource = () => JsonObject;

/**
 * A thought's signature is sent with the first call, otherwise with the last part, never with the thought
 * itself.
 */
function signatureSource(reply: Reply): SignatureSource {
  const thought = reply.parts.find((part) => part.type === 'thinking');
  let waiting = thought?.signature;
  return () => {
    if (waiting === undefined) return {};
    const sealed = { thoughtSignature: waiting };
    waiting = undefined;
    return sealed;
  };
}

function nextIsCall(reply: Reply, index: number): boolean {
  return reply.parts[index + 1]?.type === 'call';
}

function chunkWriter(reply: Reply, context: ResponseContext) {
  const rest = tail(reply, context);
  return (parts: readonly JsonObject[], finishReason?: string): Frame => {
    const payload = { ...candidateFields(parts, finishReason), ...rest };
    return { role: finishReason === undefined ? 'delta' : 'finish', text: encodeEvent(payload) };
  };
}

/** Google's servers end lines with CRLF. */
export function encodeEvent(payload: JsonObject): string {
  return `data: ${JSON.stringify(payload)}\r\n\r\n`;
}

function candidateFields(parts: readonly JsonObject[], finishReason: string | undefined): JsonObject {
  const content = { parts, role: 'model' };
  return { candidates: [{ content, ...(finishReason === undefined ? {} : { finishReason }), index: 0 }] };
}

/** `candidatesTokenCount` excludes thoughts; `totalTokenCount` includes them. */
function tail({ usage }: Reply, { id, request }: ResponseContext): JsonObject {
  const usageMetadata = {
    promptTokenCount: usage.inputTokens,
    candidatesTokenCount: usage.outputTokens - usage.reasoningTokens,
    totalTokenCount: usage.inputTokens + usage.outputTokens,
    ...(usage.cacheReadInputTokens > 0 ? { cachedContentTokenCount: usage.cacheReadInputTokens } : {}),
    ...(usage.reasoningTokens > 0 ? { thoughtsTokenCount: usage.reasoningTokens } : {}),
  };
  return { usageMetadata, modelVersion: request.model, responseId: id };
}

const STOPS: Record<Stop, string> = {
  'end-turn': 'STOP',
  'max-tokens': 'MAX_TOKENS',
  'stop-sequence': 'STOP',
  'tool-use': 'STOP',
  'pause-turn': 'STOP',
  refusal: 'STOP',
  'content-filter': 'SAFETY',
  'context-full': 'MAX_TOKENS',
  'malformed-call': 'MALFORMED_FUNCTION_CALL',
};
