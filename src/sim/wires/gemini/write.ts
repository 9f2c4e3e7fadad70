import type { JsonObject } from '../../../base/index.ts';
import type { Stop } from '../../script/answer.ts';
import { argumentsOf, type Reply, type ReplyCall, type ReplyPart } from '../../script/reply.ts';
import { type Stroke, strokes } from '../../script/reply-steps.ts';
import type { Context, Frame } from '../wire.ts';

/** Gemini's stream: every chunk is a small response; calls come whole, and the finish comes on a part of its own. */
export function* frames(reply: Reply, context: Context): Generator<Frame> {
  const chunk = chunkWriter(reply, context);
  const seal = sealer(reply);
  let calls: JsonObject[] = [];
  for (const stroke of strokes(reply)) {
    const part = spell(stroke, seal);
    if (part === undefined) continue;
    // Calls that grow side by side on other wires come in one chunk here.
    if (stroke.part.type === 'call') calls.push(part);
    else yield chunk([part]);
    if (stroke.part.type === 'call' && !(reply.interleave && nextIsCall(reply, stroke.index))) {
      yield chunk(calls);
      calls = [];
    }
  }
  yield chunk([{ text: '', ...seal() }], STOPS[reply.stop]);
}

/** The same answer in one piece. */
export function whole(reply: Reply, context: Context): JsonObject {
  const seal = sealer(reply);
  const parts = reply.parts.flatMap((part) => wholePart(part, seal));
  const left = seal();
  if (left['thoughtSignature'] !== undefined) parts.push({ text: '', ...left });
  return { ...responseOf(parts, STOPS[reply.stop]), ...tail(reply, context) };
}

function spell(stroke: Stroke, seal: Sealer): JsonObject | undefined {
  const { part } = stroke;
  if (part.type === 'call') return stroke.type === 'close' ? callPart(part, seal) : undefined;
  if (stroke.type !== 'delta' || part.type === 'redacted') return undefined;
  return part.type === 'thinking' ? { text: stroke.text, thought: true } : { text: stroke.text };
}

function wholePart(part: ReplyPart, seal: Sealer): readonly JsonObject[] {
  if (part.type === 'redacted') return [];
  if (part.type === 'call') return [callPart(part, seal)];
  return [part.type === 'thinking' ? { text: part.text, thought: true } : { text: part.text }];
}

function callPart(call: ReplyCall, seal: Sealer): JsonObject {
  const id = call.id === undefined ? {} : { id: call.id };
  const args = call.text === undefined ? {} : { args: argumentsOf(call) };
  return { functionCall: { ...id, name: call.name, ...args }, ...seal() };
}

type Sealer = () => JsonObject;

/** A thought's signature travels on the first call, or else on the last part: never on the thought itself. */
function sealer(reply: Reply): Sealer {
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

function chunkWriter(reply: Reply, context: Context) {
  const rest = tail(reply, context);
  return (parts: readonly JsonObject[], finishReason?: string): Frame => {
    const payload = { ...responseOf(parts, finishReason), ...rest };
    return { role: finishReason === undefined ? 'delta' : 'finish', text: encodeEvent(payload) };
  };
}

/** Google's servers end their lines with CRLF. */
export function encodeEvent(payload: JsonObject): string {
  return `data: ${JSON.stringify(payload)}\r\n\r\n`;
}

function responseOf(parts: readonly JsonObject[], finishReason: string | undefined): JsonObject {
  const content = { parts, role: 'model' };
  return { candidates: [{ content, ...(finishReason === undefined ? {} : { finishReason }), index: 0 }] };
}

/** `candidatesTokenCount` leaves the thoughts out; `totalTokenCount` has them. */
function tail({ usage }: Reply, { id, request }: Context): JsonObject {
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
